import { useState } from 'preact/hooks';
import type { CredentialUsageResource } from '../../src/api/ssh-credentials/credential-usage.resource.js';
import type { SshCredentialResource } from '../../src/api/ssh-credentials/ssh-credentials.resource.js';
import type { TunnelSessionResource } from '../../src/api/tunnel-sessions/tunnel-sessions.resource.js';
import { call, newIdempotencyKey } from './api.js';
import { useRights } from './caller.js';
import { History } from './history.js';
import { ownerName, useOwners } from './people.js';
import { useReading } from './reading.js';
import { asOf, goTo, hrefTo } from './route.js';
import { Copyable, Heading, Mark, nameOf, plain, Question, Time, Trouble } from './show.js';
import { boundBy, type TargetForm, textOfTarget } from './target.js';
import { Tester } from './tester.js';

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
  const path = `/ssh_credentials/${encodeURIComponent(id)}`;
  const { isAdmin, mayChange, mayReadRecords, caller } = useRights();
  const { data, tag, failure } = useReading<SshCredentialResource>(path, { include: 'fingerprint' });
  const usage = useReading<Usage>(asOf() === undefined ? `${path}/usage` : undefined).data;
  const [isAsked, ask] = useState(false);
  if (data === undefined)
    return (
      <>
        <Heading title="Credential" />
        <Trouble failure={failure} />
      </>
    );
  const [type, , ...comment] = data.public_key.split(' ');
  const seen = usage?.last_seen_at ?? null;
  const isMine = isAdmin || (mayChange && data.owner_id === caller?.id);
  const isExpired = data.expires_at !== undefined && Date.parse(data.expires_at) <= Date.now();
  return (
    <>
      <Heading title={nameOf(data)}>
        {isExpired ? <Mark kind="bad">expired</Mark> : usage?.online === true && <Mark kind="on">online</Mark>}
        <code class="quiet long">{data.id}</code>
        {isMine && (
          <span class="do">
            <a class="button" href={hrefTo(['credentials', id, 'edit'])}>
              Change
            </a>
            <button type="button" class="end" onClick={() => ask(true)}>
              Delete
            </button>
          </span>
        )}
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
              {usage?.online === false && (
                <p class="quiet">
                  {seen === null ? (
                    'Never seen'
                  ) : (
                    <>
                      Last seen <Time at={seen} />
                    </>
                  )}
                </p>
              )}
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
            {(mayReadRecords || data.owner_id === caller?.id) && <History path={path} />}
          </div>
        </section>
      </div>
      {isAsked && <Deletion credential={data} path={path} tag={tag} onClose={() => ask(false)} />}
    </>
  );
}

interface DeletionProps {
  readonly credential: SshCredentialResource;
  readonly path: string;
  readonly tag: string;
  readonly onClose: () => void;
}

/** Nothing is undone, so it names what ends. */
function Deletion({ credential, path, tag, onClose }: DeletionProps) {
  const { data } = useReading<Sessions>('/tunnel_sessions', { credential_id: credential.id, limit: '100' });
  const tunnels = data?.tunnel_sessions.flatMap((session) =>
    session.tunnels.flatMap(({ targets }) => targets as TargetForm[]),
  );
  const remove = async () => {
    await call('DELETE', path, { headers: { 'if-match': tag, 'idempotency-key': newIdempotencyKey() } });
    goTo(hrefTo(['credentials']));
  };
  return (
    <Question title={`Delete ${nameOf(credential)}?`} act="Delete it" onAct={remove} onClose={onClose}>
      <p>Its key opens no tunnel any more, and its connections end. This cannot be undone.</p>
      <p>
        {tunnels === undefined
          ? 'Reading its tunnels.'
          : tunnels.length === 0
            ? 'It has no open tunnel.'
            : `Open now: ${tunnels.map(textOfTarget).join(', ')}.`}
      </p>
    </Question>
  );
}
