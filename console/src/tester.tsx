import { useState } from 'preact/hooks';
import type { TcpEdgeCheck } from '../../src/api/gateway-api/edges/edges.resource.js';
import { call, type Failure } from './api.js';
import { asOf } from './route.js';
import { plain, Trouble } from './show.js';
import { readTarget } from './target.js';

interface Answer {
  readonly allowed: boolean;
  readonly reason: string;
  readonly matched_rule: string | null;
  readonly needs: string | null;
}

const REASONS: Readonly<Record<string, string>> = {
  unknown_key: 'The key is not known.',
  owner_inactive: 'Its owner is not active.',
  expired: 'The credential has expired.',
  reserved_elsewhere: 'It is reserved for another account or credential.',
  not_reserved: 'It must be reserved first.',
  source_not_allowed: 'It is not permitted from there.',
  not_permitted: 'No rule permits it.',
  source_unknown: 'The credential is bound to networks: say from where.',
};

/** `check` takes the moment of the page, and records nothing. */
const then = () => (asOf() === undefined ? {} : { as_of: asOf() });

function useCheck<T>(question: () => readonly [path: string, body: object]) {
  const [answer, setAnswer] = useState<T>();
  const [failure, setFailure] = useState<Failure>();
  const ask = (event: Event) => {
    event.preventDefault();
    setAnswer(undefined);
    setFailure(undefined);
    const [path, body] = question();
    void call<T>('POST', path, { body }).then(setAnswer, setFailure);
  };
  return { answer, failure, ask };
}

/** Rules and networks that are not stored yet. */
interface Unsaved {
  readonly acl: readonly string[];
  readonly networks: readonly string[];
}

/** May it? Asks `check`, which records nothing. */
export function Tester(asked: { readonly credentialId: string } | Unsaved) {
  const [target, setTarget] = useState('');
  const [source, setSource] = useState('');
  const { answer, failure, ask } = useCheck<Answer>(() => {
    const from = source.trim();
    const body = { target: readTarget(target), ...(from && { source: from }) };
    if ('credentialId' in asked)
      return [`/ssh_credentials/${encodeURIComponent(asked.credentialId)}/check`, { ...body, ...then() }];
    const { acl, networks } = asked;
    return ['/acl/check', { ...body, acl, ...(networks.length > 0 && { source_cidrs: networks }) }];
  });
  return (
    <>
      <h2>May it?</h2>
      <form class="row" onSubmit={ask}>
        <div class="grow">
          <label for="target">Target</label>
          <input
            id="target"
            class="mono"
            required
            placeholder="app=till or app.example.com:443"
            value={target}
            onInput={({ currentTarget }) => setTarget(currentTarget.value)}
          />
        </div>
        <div>
          <label for="source">From</label>
          <input
            id="source"
            class="mono short"
            placeholder="10.1.2.3"
            value={source}
            onInput={({ currentTarget }) => setSource(currentTarget.value)}
          />
        </div>
        <button type="submit">Ask</button>
      </form>
      <Trouble failure={failure} />
      <div role="status">
        {answer !== undefined && (
          <div class={answer.allowed ? 'answer' : 'answer no'}>
            <b>{answer.allowed ? 'Yes.' : 'No.'}</b>{' '}
            {answer.allowed ? (
              answer.matched_rule === null ? (
                'Without rules it may bind anything.'
              ) : (
                <code>{plain(answer.matched_rule)}</code>
              )
            ) : (
              <>
                {REASONS[answer.reason] ?? plain(answer.reason)}
                {answer.needs !== null && (
                  <>
                    {' '}
                    It needs <code>{plain(answer.needs)}</code>.
                  </>
                )}
              </>
            )}
          </div>
        )}
      </div>
    </>
  );
}

const EDGE_REASONS: Readonly<Record<string, string>> = {
  allowed: 'A rule allows it.',
  denied: 'A rule denies it.',
  no_rule_allows: 'No rule allows it.',
  policy_unknown: 'The edge names an IP policy that does not exist.',
  restriction_disabled: 'The IP restriction is off.',
  no_restriction: 'The edge has no IP restriction.',
  traffic_policy: 'The traffic policy keeps it out.',
  edge_expired: 'The edge has ended.',
};

/** Would the edge let an address in? By its IP rules and its traffic policy. */
export function AddressTester({ edgeId }: { readonly edgeId: string }) {
  const [source, setSource] = useState('');
  const { answer, failure, ask } = useCheck<TcpEdgeCheck>(() => [
    `/edges/tcp/${encodeURIComponent(edgeId)}/check`,
    { source: source.trim(), ...then() },
  ]);
  return (
    <>
      <h2>Is it let in?</h2>
      <form class="row" onSubmit={ask}>
        <div class="grow">
          <label for="address">Address of a visitor</label>
          <input
            id="address"
            class="mono"
            required
            placeholder="203.0.113.7"
            value={source}
            onInput={({ currentTarget }) => setSource(currentTarget.value)}
          />
        </div>
        <button type="submit">Ask</button>
      </form>
      <Trouble failure={failure} />
      <div role="status">
        {answer !== undefined && (
          <div class={answer.allowed ? 'answer' : 'answer no'}>
            <b>{answer.allowed ? 'Yes.' : 'No.'}</b> {EDGE_REASONS[answer.reason] ?? plain(answer.reason)}{' '}
            {answer.matched_rule !== null && (
              <code>
                {answer.matched_rule.action} {answer.matched_rule.cidr}
              </code>
            )}
            {answer.not_served.map(({ hostport, reason }) => (
              <p key={hostport}>
                <code>{plain(hostport)}</code> is not served: {reason.replaceAll('_', ' ')}.
              </p>
            ))}
          </div>
        )}
      </div>
    </>
  );
}
