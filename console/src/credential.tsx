import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import { useRights } from './caller.js';
import { ownerName, useOwners } from './people.js';
import { useReading } from './reading.js';
import { Copyable, Heading, Mark, nameOf, plain, Time, Trouble } from './show.js';
import { boundBy } from './target.js';
import { Tester } from './tester.js';

/** The lines for ssh, one a gateway that says its address. What is not known is said. */
function SshLines({ acl }: { readonly acl: readonly string[] }) {
  const gateways = useRights().caller?.gateways ?? [];
  const known = gateways.flatMap(({ address }) => {
    const [, host, port] = /^\[?(.+?)\]?:(\d+)$/.exec(address ?? '') ?? [];
    return host === undefined ? [] : [`ssh -N -p ${port} -i KEY -R ${boundBy(acl)}:localhost:8080 ${host}`];
  });
  return (
    <>
      <h2>Open a tunnel</h2>
      {known.map((line) => (
        <Copyable key={line} text={line} />
      ))}
      {known.length === 0 && (
        <p>
          {gateways.length === 0
            ? 'No gateway reports now, so its address is not known here.'
            : 'The gateway does not say its address: whoever runs it sets GATEWAY_PUBLIC_ADDRESS.'}
        </p>
      )}
      {gateways.flatMap(({ host_keys }) =>
        host_keys.map((key) => (
          <p key={key} class="quiet long">
            Its host key: <code>{plain(key)}</code>
          </p>
        )),
      )}
    </>
  );
}

export function Credential({ id }: { readonly id: string }) {
  const owners = useOwners();
  const { data, failure } = useReading<SshCredentialResource>(`/ssh_credentials/${encodeURIComponent(id)}`, {
    include: 'fingerprint,usage',
  });
  if (data === undefined)
    return (
      <>
        <Heading title="Credential" />
        <Trouble failure={failure} />
      </>
    );
  const [type, , ...comment] = data.public_key.split(' ');
  const seen = data.usage?.last_seen_at ?? null;
  const isExpired = data.expires_at !== undefined && Date.parse(data.expires_at) <= Date.now();
  return (
    <>
      <Heading title={nameOf(data)}>
        {isExpired ? <Mark kind="bad">expired</Mark> : data.usage?.online === true && <Mark kind="on">online</Mark>}
        <code class="quiet long">{data.id}</code>
      </Heading>
      <Trouble failure={failure} />
      <div class="pair">
        <div>
          <section class="sheet">
            <div class="pad">
              <h2>May bind</h2>
              {data.acl.length === 0 ? (
                <p>Anything: it has no rules.</p>
              ) : (
                <ul class="rules">
                  {data.acl.map((rule) => (
                    <li key={rule}>
                      <code class="long">{plain(rule)}</code>
                    </li>
                  ))}
                </ul>
              )}
              <p class="quiet">
                Owner {ownerName(owners, data.owner_id)}
                {data.source_cidrs !== undefined && ` · from ${data.source_cidrs.join(', ')}`}
                {data.expires_at !== undefined && (
                  <>
                    {' '}
                    · {isExpired ? 'expired' : 'expires'} <Time at={data.expires_at} />
                  </>
                )}
              </p>
              <p class="quiet">
                {seen === null ? (
                  'Never seen'
                ) : (
                  <>
                    Last seen <Time at={seen} />
                  </>
                )}
              </p>
              <h2>Key</h2>
              <code class="long">{data.fingerprint ?? ''}</code>
              <p class="quiet long">
                {type} {comment.length > 0 && `· ${plain(comment.join(' '))}`}
              </p>
            </div>
          </section>
          <section class="sheet">
            <div class="pad">
              <SshLines acl={data.acl} />
            </div>
          </section>
        </div>
        <section class="sheet">
          <div class="pad">
            <Tester credentialId={data.id} />
          </div>
        </section>
      </div>
    </>
  );
}
