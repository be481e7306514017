import type { CredentialUsageResource } from '../../src/api/ssh-credentials/credential-usage.resource.js';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import type { TunnelSessionResource } from '../../src/api/tunnel-sessions/tunnel-sessions.resource.js';
import { useRights } from './caller.js';
import { ownerName, useOwners } from './names.js';
import { useReading } from './reading.js';
import { asOf } from './route.js';
import { Copyable, Lines, Mark, nameOf, plain, Time } from './show.js';
import { boundBy, type TargetForm, textOfTarget } from './target.js';
import { Tester } from './tester.js';
import { Thing } from './thing.js';

type Usage = Pick<CredentialUsageResource, 'online' | 'last_seen_at'>;
interface Sessions {
  readonly tunnel_sessions: readonly TunnelSessionResource[];
}

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
  const { isAdmin, mayChange, caller } = useRights();
  const usage = useReading<Usage>(
    asOf() === undefined ? `/ssh_credentials/${encodeURIComponent(id)}/usage` : undefined,
  ).data;
  const isOwn = ({ owner_id }: SshCredentialResource) => owner_id === caller?.id;
  const isExpired = ({ expires_at }: SshCredentialResource) =>
    expires_at !== undefined && Date.parse(expires_at) <= Date.now();
  return (
    <Thing<SshCredentialResource>
      place="credentials"
      id={id}
      one="Credential"
      query={{ include: 'fingerprint' }}
      nameOf={nameOf}
      marks={(credential) =>
        isExpired(credential) ? (
          <Mark kind="bad">expired</Mark>
        ) : (
          usage?.online != null && <Mark kind={usage.online ? 'on' : ''}>{usage.online ? 'online' : 'offline'}</Mark>
        )
      }
      isMine={(credential) => isAdmin || (mayChange && isOwn(credential))}
      hasOwnHistory={isOwn}
      left={(credential) => {
        const [type, , ...comment] = credential.public_key.split(' ');
        const { acl, source_cidrs, expires_at, fingerprint } = credential;
        return (
          <>
            <section class="sheet">
              <div class="pad">
                <h2>May bind</h2>
                {acl.length === 0 ? <p>Anything: it has no rules.</p> : <Lines of={acl} />}
                <p class="quiet">
                  Owner {ownerName(owners, credential.owner_id)}
                  {source_cidrs !== undefined && ` · from ${source_cidrs.join(', ')}`}
                  {expires_at !== undefined && (
                    <>
                      {' '}
                      · {isExpired(credential) ? 'expired' : 'expires'} <Time at={expires_at} />
                    </>
                  )}
                </p>
                {usage?.online === false && (
                  <p class="quiet">
                    {usage.last_seen_at === null ? (
                      'Never seen'
                    ) : (
                      <>
                        Last seen <Time at={usage.last_seen_at} />
                      </>
                    )}
                  </p>
                )}
                <h2>Key</h2>
                <code class="long">{fingerprint ?? ''}</code>
                <p class="quiet long">
                  {type} {comment.length > 0 && `· ${plain(comment.join(' '))}`}
                </p>
              </div>
            </section>
            <section class="sheet">
              <div class="pad">
                <SshLines acl={acl} />
              </div>
            </section>
          </>
        );
      }}
      right={() => <Tester credentialId={id} />}
      ends={() => <OpenTunnels id={id} />}
    />
  );
}

/** Nothing is undone, so it names what ends. */
function OpenTunnels({ id }: { readonly id: string }) {
  const { data } = useReading<Sessions>('/tunnel_sessions', { credential_id: id, limit: '100' });
  const tunnels = data?.tunnel_sessions.flatMap((session) =>
    session.tunnels.flatMap(({ targets }) => targets as TargetForm[]),
  );
  return (
    <>
      <p>Its key opens no tunnel any more, and its connections end.</p>
      <p>
        {tunnels === undefined
          ? 'Reading its tunnels.'
          : tunnels.length === 0
            ? 'It has no open tunnel.'
            : `Open now: ${tunnels.map(textOfTarget).join(', ')}.`}
      </p>
    </>
  );
}
