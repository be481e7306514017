import type { IpPolicyResource } from '../../src/api/ip-policies/ip-policies.resource.js';
import type { TcpEdgeResource } from '../../src/api/tcp-edges/tcp-edges.resource.js';
import type { TunnelGroupResource } from '../../src/api/tunnel-groups/tunnel-groups.resource.js';
import { useList } from './list.js';
import { goTo, type Route, withFilter } from './route.js';
import { Choice, nameOf, plain } from './show.js';

/** What ids stand for: the newest 100 of each kind, which others name. */

interface Owner {
  readonly id: string;
  readonly name: string;
}

/** The newest users and bots of the account, who own what there is. */
export function useOwners(): readonly Owner[] {
  const users = useList<{ id: string; email: string }>('/users', 'users').items ?? [];
  const bots = useList<{ id: string; name: string }>('/bot_users', 'bot_users').items ?? [];
  return [
    ...users.map(({ id, email }) => ({ id, name: plain(email) })),
    ...bots.map(({ id, name }) => ({ id, name: plain(name) })),
  ];
}

export const ownerName = (owners: readonly Owner[], id: string): string =>
  owners.find((owner) => owner.id === id)?.name ?? id;

export function OwnerFilter({ route, owners }: { readonly route: Route; readonly owners: readonly Owner[] }) {
  return (
    <Choice
      id="owner"
      label="Owner"
      value={route.query.get('owner') ?? ''}
      options={[['', 'Everyone'], ...owners.map(({ id, name }) => [id, name] as const)]}
      onChoose={(owner) => goTo(withFilter(route, 'owner', owner))}
    />
  );
}

export const labelsText = (labels: TunnelGroupResource['labels']): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .join(', ') || 'no label';
export const groupName = (group: TunnelGroupResource): string =>
  plain(group.description.trim() || labelsText(group.labels));

export const useGroups = (): readonly TunnelGroupResource[] =>
  useList<TunnelGroupResource>('/backends/tunnel_group', 'backends').items ?? [];

export const useEdges = (): readonly TcpEdgeResource[] =>
  useList<TcpEdgeResource>('/edges/tcp', 'tcp_edges').items ?? [];

export const edgeName = ({ description, hostports, id }: TcpEdgeResource): string =>
  plain(description.trim() || hostports[0] || id);

/** Which of the newest edges send to a group. */
export function servedBy(edges: readonly TcpEdgeResource[], groupId: string): string {
  const behind = edges.filter(({ backend }) => backend?.backend.id === groupId);
  return behind.length === 0 ? 'behind no edge' : `behind ${behind.map(edgeName).join(', ')}`;
}

export const usePolicies = (): readonly IpPolicyResource[] =>
  useList<IpPolicyResource>('/ip_policies', 'ip_policies').items ?? [];

export function policyName(policies: readonly IpPolicyResource[], id: string): string {
  const policy = policies.find((one) => one.id === id);
  return policy === undefined ? id : nameOf(policy);
}
