import { useState } from 'preact/hooks';
import type { CallerResource } from '../../src/api/caller/caller.resource.js';
import { call, type Failure, kept } from './api.js';
import { Heading, Trouble } from './show.js';

/** Over plain HTTP everyone on the way reads the key. */
const isOpenToOthers = !isSecureContext;

export function SignIn({ said, onDone }: { readonly said: string; readonly onDone: (caller: CallerResource) => void }) {
  const [key, setKey] = useState('');
  const [failure, setFailure] = useState<Failure>();
  const signIn = async (event: Event) => {
    event.preventDefault();
    setFailure(undefined);
    const typed = key.trim();
    await call<CallerResource>('GET', '/caller', { key: typed }).then((caller) => {
      kept.keep(typed);
      onDone(caller);
    }, setFailure);
  };
  return (
    <main class="sign-in">
      <Heading title="Sign in" />
      {said && <p class="answer no">{said}</p>}
      <section class="sheet">
        <form class="pad" onSubmit={(event) => void signIn(event)}>
          <label for="api-key">API key</label>
          <input
            id="api-key"
            class="wide"
            type="password"
            autocomplete="off"
            required
            value={key}
            onInput={({ currentTarget }) => setKey(currentTarget.value)}
          />
          <p class="quiet">The key stays in this tab until you close it or sign out. A new tab asks again.</p>
          {isOpenToOthers && (
            <p class="answer no">This page came over plain HTTP: whoever is on the way can read the key.</p>
          )}
          <Trouble failure={failure} />
          <button type="submit" class="first">
            Sign in
          </button>
        </form>
      </section>
    </main>
  );
}
