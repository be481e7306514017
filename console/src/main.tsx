import './look.css';
import { render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CallerResource } from '../../src/api/caller/caller.resource.js';
import { BASE, call, type Failure, kept, onSignedOut } from './api.js';
import { AsOf, ThenBanner } from './as-of.js';
import { Caller, useRights } from './caller.js';
import { Credential } from './credential.js';
import { Credentials } from './credentials.js';
import { forgetCredentials } from './credentials-by-id.js';
import { EditCredential } from './edit-credential.js';
import { NewCredential } from './new-credential.js';
import { Now } from './now.js';
import { Refused } from './refused.js';
import { asOf, hrefTo, type Route, useRoute } from './route.js';
import { Heading, plain, Trouble } from './show.js';
import { SignIn } from './sign-in.js';

const PLACES = [
  ['now', 'Now'],
  ['refused', 'Refused'],
  ['credentials', 'Credentials'],
] as const;
/** Places without a state as of a moment. */
const WITHOUT_MOMENTS: readonly (string | undefined)[] = [undefined, 'now', 'refused'];

function Page({ route }: { readonly route: Route }) {
  const [place, id, part] = route.path;
  const { mayChange } = useRights();
  const isForm = place === 'credentials' && (id === 'new' || part === 'edit');
  if (WITHOUT_MOMENTS.includes(place) && asOf() !== undefined)
    return (
      <>
        <Heading title={place === 'refused' ? 'Refused binds' : 'Now'} />
        <p>
          Sessions and refused binds have no state as of a moment.{' '}
          <a href={hrefTo(route.path, { as_of: undefined })}>Back to now</a>
        </p>
      </>
    );
  if (isForm && !mayChange)
    return (
      <>
        <Heading title="Nothing can be changed here" />
        <p>
          {asOf() === undefined ? 'Your role reads, and changes nothing.' : 'The page shows what was so at a moment.'}{' '}
          <a href={hrefTo(['credentials'])}>See the credentials</a>
        </p>
      </>
    );
  if (place === 'refused') return <Refused route={route} />;
  if (place === 'credentials' && id !== undefined && part === 'edit') return <EditCredential key={id} id={id} />;
  if (place === undefined || place === 'now') return <Now route={route} />;
  if (place === 'credentials' && id === undefined) return <Credentials route={route} />;
  if (place === 'credentials' && id === 'new') return <NewCredential />;
  if (place === 'credentials' && id !== undefined) return <Credential key={id} id={id} />;
  return (
    <>
      <Heading title="Nothing is here" />
      <p>
        This address has no page. <a href={hrefTo([])}>See who is there now</a>
      </p>
    </>
  );
}

const ASK_FOR_CHANGE_MS = 60_000;
const ownScript = (): string | null => document.querySelector('script[src]')?.getAttribute('src') ?? null;

/** Whether the service has a newer page: then its index names another script. */
function useIsOld(): boolean {
  const [isOld, setOld] = useState(false);
  useEffect(() => {
    const ask = async () => {
      if (document.visibilityState !== 'visible') return;
      const index = await fetch(`${BASE}/console`, { cache: 'no-cache' }).catch(() => undefined);
      const script = ownScript();
      if (index?.ok && script !== null && !(await index.text()).includes(script)) setOld(true);
    };
    const timer = setInterval(() => void ask(), ASK_FOR_CHANGE_MS);
    return () => clearInterval(timer);
  }, []);
  return isOld;
}

function App() {
  const route = useRoute();
  const isOld = useIsOld();
  const [caller, setCaller] = useState<CallerResource>();
  const [failure, setFailure] = useState<Failure>();
  const [said, say] = useState('');
  const [key, setKey] = useState(kept.key());
  const signOut = (sentence: string) => {
    kept.forget();
    forgetCredentials();
    setKey(null);
    setCaller(undefined);
    say(sentence);
  };
  onSignedOut.call = () => signOut('The service no longer takes this key. Sign in with one that works.');
  useEffect(() => {
    if (key === null || caller !== undefined) return;
    const read = () => void call<CallerResource>('GET', '/caller').then(setCaller, setFailure);
    read();
    const timer = setInterval(read, 5_000);
    return () => clearInterval(timer);
  }, [key, caller]);
  if (key === null)
    return (
      <SignIn
        said={said}
        onDone={(who) => {
          setKey(kept.key());
          setFailure(undefined);
          setCaller(who);
        }}
      />
    );
  const places = PLACES.filter(([place]) => place !== 'refused' || (caller !== undefined && caller.role !== 'member'));
  return (
    <Caller.Provider value={caller}>
      <header>
        <span class="name">tunnel-access</span>
        <small>{location.host}</small>
        <span class="moment">
          <AsOf versionsOf={route.path[0] === 'credentials' ? route.path[1] : undefined} />
        </span>
        <small class="who">{caller !== undefined && `${plain(caller.name)} · ${caller.role}`}</small>
        <button type="button" onClick={() => signOut('')}>
          Sign out
        </button>
      </header>
      <ThenBanner />
      {isOld && (
        <div class="banner" role="status">
          The service has a newer page.{' '}
          <button type="button" onClick={() => location.reload()}>
            Reload
          </button>
        </div>
      )}
      <div class="frame">
        <nav aria-label="Places">
          <ul>
            {places.map(([place, title]) => (
              <li key={place}>
                <a href={hrefTo([place])} aria-current={(route.path[0] ?? 'now') === place ? 'page' : undefined}>
                  {title}
                </a>
              </li>
            ))}
          </ul>
        </nav>
        <main>{caller === undefined ? <Trouble failure={failure} /> : <Page route={route} />}</main>
      </div>
    </Caller.Provider>
  );
}

const root = document.getElementById('app');
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
