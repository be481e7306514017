import { type Command, Option } from 'commander';
import type { IpPolicyResource } from '../../api/ip-policies/ip-policies.resource.js';
import type { TcpEdgeResource } from '../../api/tcp-edges/tcp-edges.resource.js';
import type { TunnelGroupResource } from '../../api/tunnel-groups/tunnel-groups.resource.js';
import { messageOf } from '../../kernel/error-message.js';
import { OperatorError, UsageError } from '../../kernel/operator-error.js';
import { appended } from '../appended-option.js';
import { type Destination, serviceOf, withDestination, withServiceExamples } from '../http/destination.js';
import type { ServiceApi } from '../http/service-api.js';
import { print, tell } from '../print.js';
import { printItems } from '../table.js';
import { tellSshLine } from './next-step.js';

interface AddOptions extends Destination {
  readonly to: readonly string[];
  readonly allow: readonly string[];
  readonly description?: string;
  readonly another?: true;
}

export const EDGES = 'edges/tcp';
export const GROUPS = 'backends/tunnel_group';
const POLICIES = 'ip_policies';
/** What marks a group or a policy that `edges rm` may remove. */
export const MADE_BY_US = JSON.stringify({ made_by: 'tunnel-access edges add' });

export function edgesCommands(edges: Command): void {
  withServiceExamples(edges, 'edges add 127.0.0.1:20080 --to app=web', 'edges list');
  addAdd(edges);
  addList(edges);
  addShow(edges);
  addRemove(edges);
}

function addAdd(edges: Command): void {
  const command = edges
    .command('add')
    .description(
      'Serve a hostport: connections go to the tunnels with these labels. It makes the tunnel group, unless there is one with exactly these labels, and an IP policy for --allow',
    )
    .argument('<hostport...>', 'where visitors connect, such as 127.0.0.1:20080')
    .addOption(
      new Option('--to <label>', 'label of the tunnels, key=value; may be repeated: tunnels with all of them')
        .argParser(appended)
        .makeOptionMandatory(),
    )
    .addOption(
      new Option('--allow <network>', 'network or address that may connect; may be repeated')
        .argParser(appended)
        .default([], 'all'),
    )
    .option('--description <text>', 'what the edge is for')
    .option('--another', 'make the edge although an older one lists the hostport, and serves it')
    .action(async (hostports: readonly string[], options: AddOptions) => {
      const labels = labelsIn(options.to);
      const api = await serviceOf(options);
      if (options.another !== true) await refuseListed(api, hostports);
      const edge = await makeWhole(api, (made) => addEdge(made, api, hostports, labels, options));
      await printEdges(api, [edge], options);
      tell(`made at ${api.name}`);
      await tellSshLine(api, { acl: [`bind:${options.to[0]}`], keyFile: 'KEY' });
    });
  withDestination(command, 'edges add 127.0.0.1:20080 --to app=web --allow 10.0.0.0/8');
}

/** Of edges with the same hostport the oldest one serves, so a newer one with --allow would close nothing. */
async function refuseListed(api: ServiceApi, hostports: readonly string[]): Promise<void> {
  const edges = await api.all<TcpEdgeResource>(EDGES, 'tcp_edges');
  for (const hostport of hostports) {
    const serves = ({ backend, hostports: all }: TcpEdgeResource) =>
      backend?.enabled === true && all.includes(hostport.toLowerCase());
    const older = edges.findLast(serves);
    if (older === undefined) continue;
    const way = `remove it with tunnel-access edges rm ${older.id}, or add --another`;
    throw new UsageError(`${hostport} is served by the older edge ${older.id}; ${way}`);
  }
}

/** Paths of what was made, in order. */
type Made = string[];

async function addEdge(
  made: Made,
  api: ServiceApi,
  hostports: readonly string[],
  labels: Readonly<Record<string, string>>,
  { allow, description }: AddOptions,
): Promise<TcpEdgeResource> {
  const make = async <Resource extends { readonly id: string }>(path: string, body: object): Promise<Resource> => {
    const { body: resource } = await api.send<Resource>('POST', path, body);
    made.push(`${path}/${resource.id}`);
    return resource;
  };
  const forEdge = { description: `for the edge at ${hostports[0]}`, metadata: MADE_BY_US };
  const group = (await groupWith(api, labels)) ?? (await make<TunnelGroupResource>(GROUPS, { ...forEdge, labels }));
  const policy = allow.length === 0 ? undefined : await make<IpPolicyResource>(POLICIES, forEdge);
  for (const cidr of allow) {
    await api.send('POST', 'ip_policy_rules', { ip_policy_id: policy?.id, cidr, action: 'allow' });
  }
  return make<TcpEdgeResource>(EDGES, {
    hostports,
    backend: { backend_id: group.id },
    ...(policy !== undefined && { ip_restriction: { ip_policy_ids: [policy.id] } }),
    ...(description !== undefined && { description }),
  });
}

/** If a step fails, what was made before it goes again. What stays is named. */
async function makeWhole<T>(api: ServiceApi, make: (made: Made) => Promise<T>): Promise<T> {
  const made: Made = [];
  try {
    return await make(made);
  } catch (error) {
    const left: string[] = [];
    for (const path of made.reverse()) await api.send('DELETE', path).catch(() => void left.push(path));
    if (left.length === 0) throw error;
    throw new OperatorError(`${messageOf(error)}\nleft behind at ${api.name}: ${left.join(', ')}`);
  }
}

async function groupWith(
  api: ServiceApi,
  labels: Readonly<Record<string, string>>,
): Promise<TunnelGroupResource | undefined> {
  for await (const group of api.list<TunnelGroupResource>(GROUPS, 'backends')) {
    if (labelText(group.labels) === labelText(labels)) return group;
  }
  return undefined;
}

function addList(edges: Command): void {
  const command = edges
    .command('list')
    .description('List the edges, the newest first')
    .action(async (options: Destination) => {
      const api = await serviceOf(options);
      const found = await api.all<TcpEdgeResource>(EDGES, 'tcp_edges');
      await printEdges(api, found, options);
      if (found.length === 0) tell('there is none; make one: tunnel-access edges add HOST:PORT --to key=value');
    });
  withDestination(command, 'edges list');
}

const EDGE_ARGUMENT = ['<edge>', 'an edge: its id, or a hostport that it serves'] as const;

function addShow(edges: Command): void {
  const command = edges
    .command('show')
    .description('Show an edge')
    .argument(...EDGE_ARGUMENT)
    .action(async (word: string, options: Destination) => {
      const api = await serviceOf(options);
      await printEdges(api, [await findEdge(api, word)], options);
    });
  withDestination(command, 'edges show 127.0.0.1:20080');
}

function addRemove(edges: Command): void {
  const command = edges
    .command('rm')
    .description(
      'Delete an edge, and the group and the policy that edges add made for it, unless another edge names them',
    )
    .argument(...EDGE_ARGUMENT)
    .action(async (word: string, options: Destination) => {
      const api = await serviceOf(options);
      const edge = await findEdge(api, word);
      await api.send('DELETE', `${EDGES}/${edge.id}`);
      print(edge.id);
      const removed = await removeUnnamed(api, edge);
      tell(`deleted at ${api.name}${removed.length === 0 ? '' : `, with ${removed.join(', ')}`}`);
    });
  withDestination(command, 'edges rm 127.0.0.1:20080');
}

async function removeUnnamed(api: ServiceApi, edge: TcpEdgeResource): Promise<readonly string[]> {
  // A traffic policy names IP policies too, in its text.
  const others = JSON.stringify(await api.all<TcpEdgeResource>(EDGES, 'tcp_edges'));
  const removed: string[] = [];
  for (const path of namedBy(edge).filter((one) => !others.includes(one.split('/').at(-1) ?? one))) {
    const { metadata } = await api.read<{ readonly metadata: string }>(path);
    if (metadata !== MADE_BY_US) continue;
    await api.send('DELETE', path);
    removed.push(path);
  }
  return removed;
}

/** The paths of what an edge names. */
const namedBy = ({ backend, ip_restriction }: TcpEdgeResource): readonly string[] => [
  ...(backend ? [`${GROUPS}/${backend.backend.id}`] : []),
  ...(ip_restriction?.ip_policies ?? []).map(({ id }) => `${POLICIES}/${id}`),
];

async function findEdge(api: ServiceApi, word: string): Promise<TcpEdgeResource> {
  if (/^edgtcp_\w+$/.test(word)) return api.read(`${EDGES}/${word}`);
  const found = (await api.all<TcpEdgeResource>(EDGES, 'tcp_edges')).filter((one) => one.hostports.includes(word));
  const [first] = found;
  if (first === undefined) throw new UsageError(`there is no edge ${word}`);
  if (found.length === 1) return first;
  throw new UsageError(`${found.length} edges list ${word}; name one: ${found.map(({ id }) => id).join(', ')}`);
}

async function printEdges(api: ServiceApi, edges: readonly TcpEdgeResource[], options: Destination): Promise<void> {
  const groups = new Map<string, string>();
  if (edges.length > 0) {
    for await (const { id, labels } of api.list<TunnelGroupResource>(GROUPS, 'backends'))
      groups.set(id, labelText(labels));
  }
  const columns = {
    ID: ({ id }: TcpEdgeResource) => id,
    HOSTPORTS: ({ hostports }: TcpEdgeResource) => hostports.join(' '),
    TO: ({ backend }: TcpEdgeResource) => (backend ? (groups.get(backend.backend.id) ?? backend.backend.id) : '-'),
    'IP POLICIES': ({ ip_restriction }: TcpEdgeResource) =>
      ip_restriction?.ip_policies.map(({ id }) => id).join(' ') || '-',
    'TRAFFIC POLICY': ({ traffic_policy }: TcpEdgeResource) => (traffic_policy ? 'yes' : '-'),
    DESCRIPTION: ({ description }: TcpEdgeResource) => description,
  };
  printItems(edges, columns, options);
}

export const labelText = (labels: Readonly<Record<string, string>>): string =>
  Object.entries(labels)
    .map(([key, value]) => `${key}=${value}`)
    .sort()
    .join(' ');

function labelsIn(texts: readonly string[]): Readonly<Record<string, string>> {
  return Object.fromEntries(
    texts.map((text) => {
      const at = text.indexOf('=');
      if (at < 1) throw new UsageError(`--to ${text} is no label; write key=value, such as app=web`);
      return [text.slice(0, at), text.slice(at + 1)];
    }),
  );
}
