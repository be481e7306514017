import './look.css';
import { type ComponentChildren, render } from 'preact';
import { useEffect, useState } from 'preact/hooks';
import type { CallerResource } from '../../src/api/caller/caller.resource.js';
import { BASE, call, type Failure, kept, onSignedOut } from './api.js';
import { AsOf, ThenBanner } from './as-of.js';
import { forgetAll } from './by-id.js';
import { Caller, useRights } from './caller.js';
import { Credential } from './credential.js';
import { EditCredential, NewCredential } from './credential-form.js';
import { Credentials } from './credentials.js';
import { Edge, EdgeForm, Edges } from './edges.js';
import { Group, GroupForm, Groups } from './groups.js';
import { Policies, Policy, PolicyForm } from './ip-policies.js';
import { EditKey, Key, Keys, NewKey } from './keys.js';
import { Now } from './now.js';
import { PLACES } from './places.js';
import { Refused } from './refused.js';
import { asOf, hrefTo, type Route, useRoute } from './route.js';
import { Heading, plain, Trouble } from './show.js';
import { SignIn } from './sign-in.js';
import { EditPerson, NewPerson, People, Person } from './users.js';

/** Places without a state as of a moment. */
const WITHOUT_MOMENTS = ['now', 'refused'];

type Shown = (props: { readonly route: Route; readonly id: string }) => ComponentChildren;
interface PagesOfPlace {
  readonly list: Shown;
  readonly one?: Shown;
  readonly add?: Shown;
  readonly edit?: Shown;
}
const PAGES: Readonly<Record<string, PagesOfPlace>> = {
  now: { list: Now },
  refused: { list: Refused },
  credentials: { list: Credentials, one: Credential, add: NewCredential, edit: EditCredential },
  edges: { list: Edges, one: Edge, add: EdgeForm, edit: EdgeForm },
  groups: { list: Groups, one: Group, add: GroupForm, edit: GroupForm },
  policies: { list: Policies, one: Policy, add: PolicyForm, edit: PolicyForm },
  people: { list: People, one: Person, add: NewPerson, edit: EditPerson },
  keys: { list: Keys, one: Key, add: NewKey, edit: EditKey },
};

function kindOf(id: string | undefined, part: string | undefined): keyof PagesOfPlace {
  if (id === undefined) return 'list';
  if (id === 'new') return 'add';
  return part === 'edit' ? 'edit' : 'one';
}

interface MissingProps {
  readonly title: string;
  readonly sentence: string;
  readonly to: string;
  readonly words: string;
}

function Missing({ title, sentence, to, words }: MissingProps) {
  return (
    <>
      <Heading title={title} />
      <p>
        {sentence} <a href={to}>{words}</a>
      </p>
    </>
  );
}

function Page({ route }: { readonly route: Route }) {
  const [place = 'now', id, part] = route.path;
  const { mayChange } = useRights();
  const kind = kindOf(id, part);
  const Shown = PAGES[place]?.[kind];
  if (Shown === undefined)
    return (
      <Missing
        title="Nothing is here"
        sentence="This address has no page."
        to={hrefTo([])}
        words="See who is there now"
      />
    );
  if (WITHOUT_MOMENTS.includes(place) && asOf() !== undefined)
    return (
      <Missing
        title={place === 'refused' ? 'Refused binds' : 'Now'}
        sentence="Sessions and refused binds have no state as of a moment."
        to={hrefTo(route.path, { as_of: undefined })}
        words="Back to now"
      />
    );
  if ((kind === 'add' || kind === 'edit') && !mayChange)
    return (
      <Missing
        title="Nothing can be changed here"
        sentence={
          asOf() === undefined ? 'Your role reads, and changes nothing.' : 'The page shows what was so at a moment.'
        }
        to={hrefTo([place])}
        words="See the list"
      />
    );
  return <Shown key={`${kind} ${id}`} route={route} id={id ?? ''} />;
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
    if (kept.isMade() && caller?.api_key_id)
      void call('DELETE', `/api_keys/${caller.api_key_id}`).catch(() => undefined);
    kept.forget();
    forgetAll();
    setKey(null);
    setCaller(undefined);
    say(sentence);
  };
  useEffect(() => {
    if (once === undefined) return;
    call<{ token: string }>('POST', '/console/once', { key: once }).then(
      ({ token }) => {
        kept.keepMade(token);
        setKey(token);
      },
      ({ sentence }: Failure) => say(sentence),
    );
  }, []);
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
  const places = PLACES.filter(
    ({ place }) => place !== 'refused' || (caller !== undefined && caller.role !== 'member'),
  );
  return (
    <Caller.Provider value={caller}>
      <header>
        <span class="name">tunnel-access</span>
        <small>{location.host}</small>
        <span class="moment">
          <AsOf />
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
            {places.map(({ place, title }) => (
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

/** The secret of the link of the start. It leaves the address before anything else happens. */
const [, once] = /^#once=([\w-]+)$/.exec(location.hash) ?? [];
if (once !== undefined) history.replaceState(null, '', `${location.pathname}#/`);

const root = document.getElementById('app');
if (root !== null) {
  root.replaceChildren();
  render(<App />, root);
}
