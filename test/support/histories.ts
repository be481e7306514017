import fc from 'fast-check';
import type { Answer, ApiClient } from './api-client.js';
import { newPublicKey } from './keys.js';

/** Ids of the resources that a history has created so far, by path. */
type Made = Record<Path, string[]>;
type Path = '/ssh_credentials' | '/edges/tcp' | '/users' | '/bot_users' | '/api_keys';
type Step = (client: ApiClient, made: Made) => Promise<void>;

let unique = 0;

const text = fc.string({ unit: 'grapheme', maxLength: 12 });
/** Labels may hold any blank; PostgreSQL's arrays quote some of them. */
const acl = fc.subarray([
  '*',
  'bind:*.example.com',
  'bind:team=a b',
  'bind:k=v',
  ...Array.from('\u00a0\u3000\u2028{",', (c) => `bind:team=a${c}b`),
]);
const hostports = fc.subarray(['a.example.com:1', 'B.example.com:2', '[::1]:3', 'bücher.example:4']);
const owner = fc.nat();
const module = fc.constantFrom({ backend_id: 'bkd_1' }, { enabled: false, backend_id: 'bkd_2' });

const ownerOf = (made: Made, n: number): string | null => {
  const owners = [...made['/bot_users'], ...made['/users']];
  return owners[n % (owners.length + 1)] ?? null;
};

const create = (path: Path, body: (made: Made) => object): Step => {
  return async (client, made) => {
    const { status, body: answer } = await client.post(path, body(made));
    if (status === 201) made[path].push(answer.id);
  };
};

const on = (path: Path, n: number, act: (client: ApiClient, uri: string) => Promise<Answer>): Step => {
  return async (client, made) => {
    const ids = made[path];
    if (ids.length > 0) await act(client, `${path}/${ids[n % ids.length]}`);
  };
};

const patch = (path: Path, bodies: fc.Arbitrary<object>) =>
  fc.tuple(fc.nat(), bodies).map(([n, body]) => on(path, n, (client, uri) => client.patch(uri, body)));
const remove = (path: Path) => fc.nat().map((n) => on(path, n, (client, uri) => client.delete(uri)));

const creates = [
  fc.tuple(text, acl, owner).map(([description, rules, n]) =>
    create('/ssh_credentials', (made) => ({
      public_key: newPublicKey(),
      description,
      acl: rules,
      owner_id: ownerOf(made, n),
    })),
  ),
  fc
    .record({ description: text, hostports, backend: module }, { requiredKeys: [] })
    .map((edge) => create('/edges/tcp', () => edge)),
  fc.constantFrom('admin', 'member').map((role) =>
    create('/users', () => {
      unique += 1;
      return { email: `u${unique}@example.test`, role };
    }),
  ),
  text.map((name) =>
    create('/bot_users', () => {
      unique += 1;
      return { name: `${name} ${unique}` };
    }),
  ),
  fc
    .tuple(text, owner)
    .map(([metadata, n]) => create('/api_keys', (made) => ({ metadata, owner_id: ownerOf(made, n) }))),
];

const step: fc.Arbitrary<Step> = fc.oneof(
  ...creates,
  ...creates,
  patch('/ssh_credentials', fc.record({ description: text, acl }, { requiredKeys: [] })),
  patch('/edges/tcp', fc.record({ metadata: text, hostports, backend: module }, { requiredKeys: [] })),
  patch('/users', fc.record({ active: fc.boolean(), role: fc.constantFrom('admin', 'member') }, { requiredKeys: [] })),
  patch('/bot_users', fc.record({ active: fc.boolean() })),
  patch('/api_keys', fc.record({ description: text })),
  ...(['/ssh_credentials', '/edges/tcp', '/users', '/bot_users', '/api_keys'] as const).map(remove),
);

/** Random commands over all resources, some at once. Refused commands must not change any row. */
export const history = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 4, maxLength: 12 });

export async function play(client: ApiClient, steps: readonly (readonly Step[])[]): Promise<void> {
  const made: Made = { '/ssh_credentials': [], '/edges/tcp': [], '/users': [], '/bot_users': [], '/api_keys': [] };
  for (const together of steps) await Promise.all(together.map((act) => act(client, made)));
}
