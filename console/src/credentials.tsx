import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { nextOf } from './api.js';
import { useRights } from './caller.js';
import { OwnerFilter, ownerName, useOwners } from './people.js';
import { useReading } from './reading.js';
import { asOf, goTo, hrefTo, type Route, withFilter } from './route.js';
import { Choice, Heading, Mark, nameOf, Pages, plain, Time, Trouble } from './show.js';

interface Page {
  readonly ssh_credentials: readonly SshCredentialResource[];
  readonly next_page_uri: string | null;
}

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
  const [state, owner, before, fingerprint] = ['state', 'owner', 'before', 'fingerprint'].map(
    (name) => route.query.get(name) ?? '',
  );
  const { data, failure } = useReading<Page>('/ssh_credentials', {
    ...{
      limit: '100',
      include: asOf() === undefined ? 'usage' : undefined,
      owner_id: owner,
      before_id: before,
      fingerprint,
    },
    ...(asOf() === undefined ? asQuery(state ?? '') : {}),
  });
  const older = nextOf(data?.next_page_uri ?? null);
  const query = Object.fromEntries(route.query);
  return (
    <>
      <Heading title="Credentials">
        {mayChange && (
          <span class="do">
            <a class="button first" href={hrefTo(['credentials', 'new'])}>
              Add a key
            </a>
          </span>
        )}
      </Heading>
      <Trouble failure={failure} />
      <div class="row">
        <Choice
          id="state"
          label="Show"
          value={state ?? ''}
          options={Object.entries(STATES).filter(([value]) => value === '' || asOf() === undefined)}
          onChoose={(value) => goTo(withFilter(route, 'state', value))}
        />
        <OwnerFilter route={route} owners={owners} />
        <div class="grow">
          <label for="fingerprint">Fingerprint of the key</label>
          <input
            id="fingerprint"
            class="mono"
            placeholder="SHA256:..."
            value={fingerprint}
            onChange={({ currentTarget }) => goTo(withFilter(route, 'fingerprint', currentTarget.value.trim()))}
          />
        </div>
      </div>
      {data !== undefined && data.ssh_credentials.length === 0 && (
        <section class="sheet">
          <div class="pad">
            <h2>No credential here</h2>
            <p>
              {state || owner || before || fingerprint
                ? 'Nothing fits these filters.'
                : 'A credential is a public key that may open tunnels. '}
              {!(state || owner || fingerprint) && mayChange && (
                <a href={hrefTo(['credentials', 'new'])}>Add the first</a>
              )}
            </p>
          </div>
        </section>
      )}
      {data !== undefined && data.ssh_credentials.length > 0 && (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a wide table scrolls by keyboard
        <section class="sheet" tabIndex={0} aria-label="List of credentials">
          <table>
            <thead>
              <tr>
                <th>Device</th>
                <th>May bind</th>
                <th>Seen</th>
                <th class="less">Expires</th>
                <th class="less">Created</th>
              </tr>
            </thead>
            <tbody>
              {data.ssh_credentials.map((credential) => (
                <tr key={credential.id}>
                  <td>
                    <a href={hrefTo(['credentials', credential.id])}>{nameOf(credential)}</a>
                    <span class="quiet">{ownerName(owners, credential.owner_id)}</span>
                  </td>
                  <td class="long">
                    <code>{rulesText(credential.acl)}</code>
                  </td>
                  <td>
                    <OnlineMark online={credential.usage?.online} />
                    {credential.usage?.online === false && (
                      <span class="quiet">
                        {credential.usage.last_seen_at === null ? 'never' : <Time at={credential.usage.last_seen_at} />}
                      </span>
                    )}
                  </td>
                  <td class="less">{credential.expires_at === undefined ? '' : <Time at={credential.expires_at} />}</td>
                  <td class="less">
                    <Time at={credential.created_at} />
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
          <Pages
            count={data.ssh_credentials.length}
            newest={before ? hrefTo(['credentials'], { ...query, before: undefined }) : undefined}
            older={older === undefined ? undefined : hrefTo(['credentials'], { ...query, before: older })}
          />
        </section>
      )}
    </>
  );
}
