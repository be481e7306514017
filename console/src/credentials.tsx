import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { useRights } from './caller.js';
import { type Column, List, useList } from './list.js';
import { OwnerFilter, ownerName, useOwners } from './names.js';
import { asOf, goTo, hrefTo, type Route, withFilter } from './route.js';
import { Choice, Mark, nameOf, plain, Time } from './show.js';

const IN_30_DAYS_MS = 30 * 86_400_000;
/** Each filter asks the API: what it cannot filter is not offered. */
const STATES = {
  '': 'All',
  online: 'Online',
  offline: 'Offline',
  expiring: 'Expiring within 30 days',
} as const;

function asQuery(state: string) {
  if (state === 'online') return { online: 'true' };
  if (state === 'offline') return { online: 'false' };
  if (state !== 'expiring') return {};
  const midnight = Math.floor((Date.now() + IN_30_DAYS_MS) / 86_400_000) * 86_400_000;
  return { expiring_before: new Date(midnight).toISOString() };
}

function rulesText(acl: readonly string[]): string {
  if (acl.length === 0) return 'anything';
  const first = acl.slice(0, 2).map(plain).join(', ');
  return acl.length > 2 ? `${first} and ${acl.length - 2} more` : first;
}

const OnlineMark = ({ online }: { readonly online: boolean | null | undefined }) => {
  if (online === true) return <Mark kind="on">online</Mark>;
  return <Mark>{online === false ? 'offline' : 'not known'}</Mark>;
};

export function Credentials({ route }: { readonly route: Route }) {
  const { mayChange } = useRights();
  const owners = useOwners();
  const [state = '', owner_id = '', fingerprint = '', text = ''] = ['state', 'owner', 'fingerprint', 'text'].map(
    (name) => route.query.get(name) ?? '',
  );
  const list = useList<SshCredentialResource>('/ssh_credentials', 'ssh_credentials', {
    query: {
      ...{ owner_id, fingerprint, text },
      ...(asOf() === undefined && { include: 'usage', ...asQuery(state) }),
    },
    before: route.query.get('before'),
  });
  const columns: Column<SshCredentialResource>[] = [
    {
      name: 'Device',
      cell: (credential) => (
        <>
          <a href={hrefTo(['credentials', credential.id])}>{nameOf(credential)}</a>
          <span class="quiet">{ownerName(owners, credential.owner_id)}</span>
        </>
      ),
    },
    { name: 'May bind', kind: 'long', cell: ({ acl }) => <code>{rulesText(acl)}</code> },
    {
      name: 'Seen',
      cell: ({ usage }) => (
        <>
          <OnlineMark online={usage?.online} />
          {usage?.online === false && (
            <span class="quiet">{usage.last_seen_at === null ? 'never' : <Time at={usage.last_seen_at} />}</span>
          )}
        </>
      ),
    },
    {
      name: 'Expires',
      kind: 'less',
      cell: ({ expires_at }) => expires_at !== undefined && <Time at={expires_at} />,
    },
    { name: 'Created', kind: 'less', cell: ({ created_at }) => <Time at={created_at} /> },
  ];
  return (
    <List
      route={route}
      title="Credentials"
      list={list}
      columns={asOf() === undefined ? columns : columns.filter(({ name }) => name !== 'Seen')}
      add={mayChange && 'Add a key'}
      empty={
        <>
          A credential is a public key that may open tunnels.{' '}
          {mayChange && <a href={hrefTo(['credentials', 'new'])}>Add the first</a>}
        </>
      }
    >
      <Choice
        id="state"
        label="Show"
        value={state}
        options={Object.entries(STATES).filter(([value]) => value === '' || asOf() === undefined)}
        onChoose={(value) => goTo(withFilter(route, 'state', value))}
      />
      <OwnerFilter route={route} owners={owners} />
      {[
        ['text', 'Name or metadata', text, 'till'],
        ['fingerprint', 'Fingerprint of the key', fingerprint, 'SHA256:...'],
      ].map(([name = '', label, value, placeholder]) => (
        <div key={name} class="grow">
          <label for={name}>{label}</label>
          <input
            id={name}
            placeholder={placeholder}
            value={value}
            onChange={({ currentTarget }) => goTo(withFilter(route, name, currentTarget.value.trim()))}
          />
        </div>
      ))}
    </List>
  );
}
