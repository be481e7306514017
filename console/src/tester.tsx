import { useState } from 'preact/hooks';
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
  reserved_elsewhere: 'Another account has reserved it.',
  not_reserved: 'It must be reserved first.',
  source_not_allowed: 'It is not permitted from there.',
  not_permitted: 'No rule permits it.',
  source_unknown: 'The credential is bound to networks: say from where.',
};

/** May it? Asks `check`, which records nothing. Rules that are not stored yet have no network. */
export function Tester(asked: { readonly credentialId: string } | { readonly acl: readonly string[] }) {
  const [target, setTarget] = useState('');
  const [source, setSource] = useState('');
  const [answer, setAnswer] = useState<Answer>();
  const [failure, setFailure] = useState<Failure>();
  const ask = async (event: Event) => {
    event.preventDefault();
    setAnswer(undefined);
    setFailure(undefined);
    const body = { target: readTarget(target) };
    const isStored = 'credentialId' in asked;
    await (isStored
      ? call<Answer>('POST', `/ssh_credentials/${encodeURIComponent(asked.credentialId)}/check`, {
          body: { ...body, ...(asOf() && { as_of: asOf() }), ...(source.trim() && { source: source.trim() }) },
        })
      : call<Answer>('POST', '/acl/check', { body: { ...body, acl: asked.acl } })
    ).then(setAnswer, setFailure);
  };
  return (
    <>
      <h2>May it?</h2>
      <form class="row" onSubmit={(event) => void ask(event)}>
        <div class="grow">
          <label for="target">Target</label>
          <input
            id="target"
            class="mono"
            required
            placeholder="app.example.com:443"
            value={target}
            onInput={({ currentTarget }) => setTarget(currentTarget.value)}
          />
        </div>
        {'credentialId' in asked && (
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
        )}
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
