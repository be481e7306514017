import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import type { TunnelGroupResource } from '../../src/api/tunnel-groups/tunnel-groups.resource.js';
import type { TunnelResource } from '../../src/api/tunnel-sessions/tunnel-sessions.resource.js';
import { useById } from './by-id.js';
import { useRights } from './caller.js';
import { type Change, type Field, Form, type Values } from './form.js';
import { type Column, List, useList } from './list.js';
import { groupName, labelsText, servedBy, useEdges } from './names.js';
import { hrefTo, type Route } from './route.js';
import { bytesText, Lines, linesOf, nameOf, plain, Time } from './show.js';
import { Thing } from './thing.js';

const PATH = '/backends/tunnel_group';

export function Groups({ route }: { readonly route: Route }) {
  const { mayChange } = useRights();
  const list = useList<TunnelGroupResource>(PATH, 'backends', { before: route.query.get('before') });
  const edges = useEdges();
  const columns: Column<TunnelGroupResource>[] = [
    { name: 'Group', cell: (group) => <a href={hrefTo(['groups', group.id])}>{groupName(group)}</a> },
    { name: 'Labels', kind: 'long', cell: ({ labels }) => <code>{plain(labelsText(labels))}</code> },
    { name: 'Tunnels', kind: 'figure', cell: ({ tunnels }) => tunnels.length },
    { name: 'Edges', kind: 'less', cell: ({ id }) => servedBy(edges, id) },
  ];
  return (
    <List
      route={route}
      title="Tunnel groups"
      list={list}
      columns={columns}
      add={mayChange && 'Add a group'}
      empty="A group is the tunnels with a label, such as app=web. An edge sends its connections to a group."
    />
  );
}

const FIELDS: readonly Field[] = [
  { name: 'description', label: 'Name of the group' },
  {
    ...{ name: 'labels', label: 'Labels that a tunnel must have, one a line', kind: 'lines' },
    ...{ placeholder: 'app=web', hint: 'A tunnel joins with ssh -R app=web:0:localhost:8080.' },
  },
];

const valuesOf = (base: TunnelGroupResource | undefined): Values => ({
  description: base?.description ?? '',
  labels: Object.entries(base?.labels ?? {})
    .map(([key, value]) => `${key}=${value}`)
    .join('\n'),
});

const bodyOf = ({ description, labels = '' }: Values) => ({
  description,
  labels: Object.fromEntries(
    linesOf(labels).map((line) => {
      const [key = '', ...value] = line.split('=');
      return [key, value.join('=')];
    }),
  ),
});
const creation = (values: Values): readonly Change[] => [['POST', '', bodyOf(values)]];
const changesOf = (values: Values): readonly Change[] => [['PATCH', '', bodyOf(values)]];

export function GroupForm({ id }: { readonly id: string }) {
  const isNew = id === 'new';
  return (
    <Form<TunnelGroupResource>
      title={(base) => (base === undefined ? 'Add a tunnel group' : `Change ${groupName(base)}`)}
      path={isNew ? PATH : `${PATH}/${encodeURIComponent(id)}`}
      isNew={isNew}
      fields={FIELDS}
      valuesOf={valuesOf}
      changesOf={isNew ? creation : changesOf}
      act={isNew ? 'Add the group' : 'Save'}
      back="groups"
    />
  );
}

export function Group({ id }: { readonly id: string }) {
  const { mayChange } = useRights();
  const edges = useEdges();
  return (
    <Thing<TunnelGroupResource>
      place="groups"
      id={id}
      one="Tunnel group"
      isLive
      nameOf={groupName}
      isMine={() => mayChange}
      left={(group) => (
        <section class="sheet">
          <div class="pad">
            <h2>Tunnels with</h2>
            <Lines of={labelsText(group.labels).split(', ')} />
            <p class="quiet">{servedBy(edges, id)}</p>
            <h2>Open now</h2>
            <Tunnels ids={group.tunnels.map((tunnel) => tunnel.id)} />
          </div>
        </section>
      )}
      ends={() => <p>Its tunnels stay open. {servedBy(edges, id)}: such an edge then leads nowhere.</p>}
    />
  );
}

function Tunnels({ ids }: { readonly ids: readonly string[] }) {
  const tunnelOf = useById<TunnelResource>('/tunnels', ids);
  const tunnels = ids.map(tunnelOf).filter((tunnel) => tunnel !== undefined);
  const deviceOf = useById<SshCredentialResource>(
    '/ssh_credentials',
    tunnels.map(({ credential }) => credential.id),
  );
  if (ids.length === 0) return <p>No tunnel that you may see.</p>;
  return (
    <table>
      <tbody>
        {tunnels.map(({ id, credential, started_at, bytes_in, bytes_out }) => {
          const device = deviceOf(credential.id);
          return (
            <tr key={id}>
              <td>
                <a href={hrefTo(['credentials', credential.id])}>{device ? nameOf(device) : credential.id}</a>
              </td>
              <td>
                <Time at={started_at} ago={false} />
              </td>
              <td class="figure less">{bytesText(bytes_in)} in</td>
              <td class="figure less">{bytesText(bytes_out)} out</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}
