import type { TcpEdgeResource } from '../../src/api/tcp-edges/tcp-edges.resource.js';
import { useRights } from './caller.js';
import { type Change, type Field, Form, type Values } from './form.js';
import { type Column, List, useList } from './list.js';
import { edgeName, groupName, policyName, useGroups, usePolicies } from './names.js';
import { hrefTo, type Route } from './route.js';
import { Lines, linesOf, localTime, Mark, plain, Time, zone } from './show.js';
import { AddressTester } from './tester.js';
import { Thing } from './thing.js';

const PATH = '/edges/tcp';

/** Whom an edge lets in, in a few words. */
function letsIn({ ip_restriction, traffic_policy }: TcpEdgeResource): string {
  const parts = [
    ...(ip_restriction?.enabled ? [`IP policies: ${ip_restriction.ip_policies.length}`] : []),
    ...(traffic_policy?.enabled ? ['traffic policy'] : []),
  ];
  return parts.join(', ') || 'everyone';
}

export function Edges({ route }: { readonly route: Route }) {
  const { mayChange } = useRights();
  const groups = useGroups();
  const list = useList<TcpEdgeResource>(PATH, 'tcp_edges', { before: route.query.get('before') });
  const columns: Column<TcpEdgeResource>[] = [
    {
      name: 'Edge',
      cell: (edge) => (
        <>
          <a href={hrefTo(['edges', edge.id])}>{edgeName(edge)}</a>
          <span class="quiet">{edge.hostports.slice(0, 2).map(plain).join(', ')}</span>
        </>
      ),
    },
    { name: 'Sends to', cell: (edge) => <Backend edge={edge} groups={groups} /> },
    { name: 'Lets in', kind: 'less', cell: letsIn },
    { name: 'Created', kind: 'less', cell: ({ created_at }) => <Time at={created_at} /> },
  ];
  return (
    <List
      route={route}
      title="Edges"
      list={list}
      columns={columns}
      add={mayChange && 'Add an edge'}
      empty={
        <>
          An edge is an address of a gateway, such as 127.0.0.1:20080, and the tunnel group behind it. Begin with{' '}
          <a href={hrefTo(['groups'])}>a group</a>.
        </>
      }
    />
  );
}

function Backend({ edge, groups }: { readonly edge: TcpEdgeResource; readonly groups: ReturnType<typeof useGroups> }) {
  if (edge.backend === null) return <Mark kind="warn">nowhere</Mark>;
  const { id } = edge.backend.backend;
  const group = groups.find((one) => one.id === id);
  return (
    <>
      <a href={hrefTo(['groups', id])}>{group === undefined ? id : groupName(group)}</a>{' '}
      {!edge.backend.enabled && <Mark kind="warn">off</Mark>}
    </>
  );
}

export function Edge({ id }: { readonly id: string }) {
  const { mayChange } = useRights();
  const groups = useGroups();
  const policies = usePolicies();
  return (
    <Thing<TcpEdgeResource>
      place="edges"
      id={id}
      one="Edge"
      nameOf={edgeName}
      isMine={() => mayChange}
      left={(edge) => (
        <section class="sheet">
          <div class="pad">
            <h2>Serves</h2>
            <Lines of={edge.hostports} />
            {edge.expires_at != null && (
              <p>
                Ends <Time at={edge.expires_at} />
              </p>
            )}
            <h2>Sends to</h2>
            <p>
              <Backend edge={edge} groups={groups} />
            </p>
            <h2>Lets in</h2>
            {edge.ip_restriction === null ? (
              <p>Every address: it has no IP restriction.</p>
            ) : (
              <ul>
                {edge.ip_restriction.ip_policies.map((policy) => (
                  <li key={policy.id}>
                    <a href={hrefTo(['policies', policy.id])}>{policyName(policies, policy.id)}</a>
                  </li>
                ))}
                {!edge.ip_restriction.enabled && <Mark kind="warn">off</Mark>}
              </ul>
            )}
            {edge.traffic_policy !== null && (
              <>
                <h2>Traffic policy {!edge.traffic_policy.enabled && <Mark kind="warn">off</Mark>}</h2>
                <pre>{plain(edge.traffic_policy.value)}</pre>
              </>
            )}
          </div>
        </section>
      )}
      right={() => <AddressTester edgeId={id} />}
      ends={(edge) => <p>Its connections end, and {edge.hostports.map(plain).join(', ')} serves nothing.</p>}
    />
  );
}

const valuesOf = (base: TcpEdgeResource | undefined): Values => ({
  ...{ description: base?.description ?? '', hostports: (base?.hostports ?? []).join('\n') },
  group: base?.backend?.backend.id ?? '',
  policies: (base?.ip_restriction?.ip_policies ?? []).map(({ id }) => id).join('\n'),
  ...{ traffic: base?.traffic_policy?.value ?? '', expires: localTime(base?.expires_at ?? undefined) },
});

/** Absent is no module: an edit takes it away by a DELETE, since PATCH leaves what is null. */
const bodyOf = ({ description = '', hostports = '', group, policies = '', traffic, expires }: Values) => ({
  ...{ description: description.trim(), hostports: linesOf(hostports) },
  ...(group && { backend: { backend_id: group } }),
  ...(policies && { ip_restriction: { ip_policy_ids: linesOf(policies) } }),
  ...(traffic && { traffic_policy: { value: traffic } }),
  ...(expires && { expires_at: new Date(expires).toISOString() }),
});
const PARTS = {
  group: '/backend',
  policies: '/ip_restriction',
  traffic: '/traffic_policy',
  expires: '/expiry',
} as const;

const creation = (values: Values): readonly Change[] => [['POST', '', bodyOf(values)]];
function changesOf(values: Values, was: Values): readonly Change[] {
  const changed = Object.fromEntries(Object.entries(values).filter(([name, value]) => value !== was[name]));
  const { hostports, description, ...modules } = bodyOf(changed);
  const body = {
    ...modules,
    ...(changed.description !== undefined && { description }),
    ...(changed.hostports !== undefined && { hostports }),
  };
  const gone = Object.entries(PARTS).filter(([name]) => changed[name] === '');
  return [
    ...(Object.keys(body).length > 0 ? [['PATCH', '', body] as const] : []),
    ...gone.map(([, at]) => ['DELETE', at] as const),
  ];
}

export function EdgeForm({ id }: { readonly id: string }) {
  const isNew = id === 'new';
  const groups = useGroups();
  const policies = usePolicies();
  const fields: readonly Field[] = [
    { name: 'description', label: 'Name of the edge' },
    {
      ...{ name: 'hostports', label: 'Serves, one host:port a line', kind: 'lines', isRequired: true },
      placeholder: '127.0.0.1:20080',
    },
    {
      ...{ name: 'group', label: 'Sends to' },
      options: [['', 'Nowhere yet'], ...groups.map((group) => [group.id, groupName(group)] as const)],
    },
    {
      ...{ name: 'policies', label: 'Lets in only what these IP policies allow', kind: 'many' },
      ...{ options: policies.map((policy) => [policy.id, policyName(policies, policy.id)] as const) },
      hint: 'None: every address.',
    },
    { name: 'expires', label: `Ends, ${zone()} (empty: never)`, kind: 'time' },
    { name: 'traffic', label: 'Traffic policy (JSON or YAML; empty: none)', kind: 'lines' },
  ];
  return (
    <Form<TcpEdgeResource>
      title={(base) => (base === undefined ? 'Add an edge' : `Change ${edgeName(base)}`)}
      path={isNew ? PATH : `${PATH}/${encodeURIComponent(id)}`}
      isNew={isNew}
      fields={fields}
      valuesOf={valuesOf}
      changesOf={isNew ? creation : changesOf}
      act={isNew ? 'Add the edge' : 'Save'}
      back="edges"
    />
  );
}
