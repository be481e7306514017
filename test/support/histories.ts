import { expect } from '@jest/globals';
import fc from 'fast-check';
import type { Answer, ApiClient } from './api-client.js';
import { newPublicKey } from './keys.js';

export const PATHS = [
  ...(['/ssh_credentials', '/edges/tcp', '/users', '/bot_users', '/api_keys'] as const),
  ...(['/ip_policies', '/ip_policy_rules', '/backends/tunnel_group'] as const),
  ...(['/reserved_addrs', '/reserved_domains', '/enrollment_keys'] as const),
] as const;
type Path = (typeof PATHS)[number];

/** An admin of an account, and what a history has created for it so far. */
export interface Player {
  readonly client: ApiClient;
  /** Every text that the player writes begins with it. */
  readonly mark: string;
  /** Ids by path, also of resources that are deleted by now. */
  readonly made: Readonly<Record<Path, string[]>>;
  /** Ids of other accounts, which the player also tries. */
  readonly foreign: (path: Path) => readonly string[];
}

export const playerOf = (client: ApiClient, mark = '', foreign: Player['foreign'] = () => []): Player => ({
  client,
  mark,
  made: Object.fromEntries(PATHS.map((path): [Path, string[]] => [path, []])) as Record<Path, string[]>,
  foreign,
});

/** One call. It resolves with undefined if the player has created no resource for it. */
export type Step = (player: Player) => Promise<Answer | undefined>;

let created = 0;
const unique = (): number => {
  created += 1;
  return created;
};

const texts = fc.oneof(fc.string({ unit: 'grapheme', maxLength: 12 }), fc.constant('ünï\n\t"\\ 😀'));
/** Labels may hold any blank; PostgreSQL's arrays quote some of them. */
const acls = fc.subarray([
  '*',
  'bind:*.example.com',
  'bind:team=a b',
  'bind:k=v',
  ...Array.from('\u00a0\u3000\u2028{",', (c) => `bind:team=a${c}b`),
]);
const roles = fc.constantFrom('admin', 'member', 'auditor');
/** A few hostports, one of them in two spellings, so that edges share them. */
const hostports = fc.subarray([
  'a.example.com:1',
  'A.example.com.:1',
  'b.example.com:2',
  '[::1]:3',
  'bücher.example:4',
]);
const ids = fc.stringMatching(/^[A-Za-z0-9_-]{1,8}$/);
const enabled = fc.boolean();
const modules = {
  backend: fc.record({ enabled, backend_id: ids }, { requiredKeys: ['backend_id'] }),
  ip_restriction: fc.record({ enabled, ip_policy_ids: fc.array(ids, { maxLength: 3 }) }, { requiredKeys: [] }),
  traffic_policy: fc.record({ enabled, value: texts }, { requiredKeys: ['value'] }),
};
const MODULES = ['backend', 'ip_restriction', 'traffic_policy'] as const;
const edges = fc.record({ hostports, ...modules }, { requiredKeys: [] });

/** A few networks, some of them in two spellings, so that rules of a policy share them. */
const networks = fc.constantFrom('192.0.2.0/24', '::ffff:192.0.2.0/120', '2001:DB8::/32', '198.51.100.7', '0.0.0.0/0');
const labels = fc.dictionary(
  fc.constantFrom('app', 'dc', 'ünï', '__proto__'),
  texts.map((text) => text.replaceAll('=', '')),
);

/** A few names that overlap, some of them in two spellings, so that the accounts and the entities of one want the same. */
const addrs = fc.constantFrom('a.example.com:1', 'A.example.com.:1', 'b.a.example.com:1', 'b.example.net:2');
const domains = fc.constantFrom(
  'a.example.com',
  '*.a.example.com',
  'B.a.example.com',
  '*.example.net',
  'c.example.org',
);

/** Times with and without milliseconds, which rows and events spell differently. */
const times = fc.constantFrom(
  () => '2099-01-31T00:00:00Z',
  () => '2099-12-31T23:59:59.12+01:00',
  () => new Date(Date.now() + 50).toISOString(),
);
const cidrs = fc.subarray(['192.0.2.0/24', '2001:DB8::/32', '::ffff:198.51.100.7'], { minLength: 1 });

const known = ({ made, foreign }: Player, path: Path): string[] => [...made[path], ...foreign(path)];

const oneOf = (owners: readonly string[], n: number): string | null => owners[n % (owners.length + 1)] ?? null;

/** Only owners of its own account: a credential may name an owner that the account does not know. */
const ownerOfCredential = ({ made }: Player, n: number) => oneOf([...made['/bot_users'], ...made['/users']], n);
const ownerOfKey = (player: Player, n: number) =>
  oneOf([...known(player, '/bot_users'), ...known(player, '/users')], n);

const create =
  (path: Path, body: (player: Player) => object): Step =>
  async (player) => {
    const answer = await player.client.post(path, body(player));
    if (answer.status === 201) player.made[path].push(answer.body.id);
    return answer;
  };

/** A call about one of the entities created so far. */
const on = (path: Path, act: (client: ApiClient, uri: string, mark: string) => Promise<Answer>) =>
  fc.nat().map(
    (n): Step =>
      async (player) => {
        const all = known(player, path);
        return all.length === 0 ? undefined : act(player.client, `${path}/${all[n % all.length]}`, player.mark);
      },
  );

const patch = (path: Path, bodies: fc.Arbitrary<(mark: string) => object>) =>
  bodies.chain((body) => on(path, (client, uri, mark) => client.patch(uri, body(mark))));

const owners = fc.nat();
const creates = [
  fc.tuple(texts, acls, owners).map(([text, acl, n]) =>
    create('/ssh_credentials', (player) => ({
      public_key: newPublicKey(),
      description: player.mark + text,
      acl,
      owner_id: ownerOfCredential(player, n),
    })),
  ),
  fc
    .tuple(texts, edges)
    .map(([text, edge]) => create('/edges/tcp', ({ mark }) => ({ ...edge, metadata: mark + text }))),
  roles.map((role) => create('/users', ({ mark }) => ({ email: `${mark}u${unique()}@example.test`, role }))),
  texts.map((text) => create('/bot_users', ({ mark }) => ({ name: `${mark}${text} ${unique()}` }))),
  fc
    .tuple(texts, owners)
    .map(([text, n]) =>
      create('/api_keys', (player) => ({ metadata: player.mark + text, owner_id: ownerOfKey(player, n) })),
    ),
];

const rest = [
  texts.map((text) => create('/ip_policies', ({ mark }) => ({ description: mark + text }))),
  fc.tuple(fc.nat(), networks, fc.constantFrom('allow', 'deny')).map(([n, cidr, action]) =>
    create('/ip_policy_rules', (player) => ({
      ip_policy_id: oneOf(known(player, '/ip_policies'), n),
      cidr,
      action,
      metadata: player.mark,
    })),
  ),
  fc
    .tuple(texts, labels)
    .map(([text, some]) => create('/backends/tunnel_group', ({ mark }) => ({ metadata: mark + text, labels: some }))),
  fc
    .tuple(texts, addrs)
    .map(([text, addr]) => create('/reserved_addrs', ({ mark }) => ({ metadata: mark + text, addr }))),
  fc
    .tuple(texts, domains)
    .map(([text, domain]) => create('/reserved_domains', ({ mark }) => ({ description: mark + text, domain }))),
  fc.tuple(texts, fc.boolean()).map(
    ([text, hasName]): Step =>
      async (player) => {
        const named = hasName ? { name: `device-${unique()}`, max_uses: 1 } : { max_uses: 2 };
        const body = { acl: ['bind:{name}.d.example.com'], metadata: player.mark + text, ...named };
        const made = await create('/enrollment_keys', () => body)(player);
        if (made?.status !== 201) return made;
        const device = { name: named.name ?? `device-${unique()}`, public_key: newPublicKey() };
        return player.client.post('/enroll', device, { authorization: `Bearer ${made.body.token}` });
      },
  ),
  // Edges that name what the player made, so that a strict instance refuses some deletions.
  fc.tuple(fc.nat(), fc.nat()).map(([p, g]) =>
    create('/edges/tcp', (player) => ({
      metadata: player.mark,
      ip_restriction: { ip_policy_ids: [oneOf(player.made['/ip_policies'], p) ?? 'ipp_1'] },
      backend: { backend_id: oneOf(player.made['/backends/tunnel_group'], g) ?? 'bkdtg_1' },
    })),
  ),
];

const putSources = (client: ApiClient, uri: string, list: readonly string[]) =>
  client.put(`${uri}/source_restriction`, { cidrs: list });
const described = texts.map((text) => (mark: string) => ({ description: mark + text }));
const changes = [
  patch('/ssh_credentials', described),
  patch(
    '/ssh_credentials',
    acls.map((acl) => () => ({ acl })),
  ),
  fc.tuple(texts, edges).chain(([text, edge]) =>
    patch(
      '/edges/tcp',
      fc.constant((mark) => ({ ...edge, metadata: mark + text })),
    ),
  ),
  patch(
    '/users',
    fc.record({ active: fc.boolean(), role: roles }, { requiredKeys: [] }).map((body) => () => body),
  ),
  patch(
    '/bot_users',
    fc.tuple(fc.boolean(), texts).map(([active, text]) => (mark) => ({ active, name: `${mark}${text} ${unique()}` })),
  ),
  fc
    .constantFrom('member', 'auditor')
    .chain((role) => on('/bot_users', (client, uri) => client.put(`${uri}/role`, { role }))),
  on('/bot_users', (client, uri) => client.delete(`${uri}/role`)),
  patch('/api_keys', described),
  ...(['/ssh_credentials', '/api_keys'] as const).flatMap((path) => [
    times.chain((time) => on(path, (client, uri) => client.put(`${uri}/expiry`, { expires_at: time() }))),
    on(path, (client, uri) => client.delete(`${uri}/expiry`)),
  ]),
  fc
    .constantFrom(0, 60)
    .chain((overlap_seconds) =>
      on('/ssh_credentials', (client, uri) =>
        client.post(`${uri}/rotate`, { public_key: newPublicKey(), overlap_seconds }),
      ),
    ),
  cidrs.chain((list) => on('/ssh_credentials', (client, uri) => putSources(client, uri, list))),
  on('/ssh_credentials', (client, uri) => client.delete(`${uri}/source_restriction`)),
  ...MODULES.map((name) =>
    modules[name].chain((body: object) => on('/edges/tcp', (client, uri) => client.put(`${uri}/${name}`, body))),
  ),
  fc.constantFrom(...MODULES).chain((name) => on('/edges/tcp', (client, uri) => client.delete(`${uri}/${name}`))),
];
const changesOfRest = [
  patch('/ip_policies', described),
  patch(
    '/ip_policy_rules',
    networks.map((cidr) => () => ({ cidr })),
  ),
  patch(
    '/backends/tunnel_group',
    labels.map((some) => () => ({ labels: some })),
  ),
  patch('/reserved_addrs', described),
  patch(
    '/reserved_domains',
    texts.map((text) => (mark) => ({ metadata: mark + text, region: 'eu' })),
  ),
];
const removes = PATHS.map((path) => on(path, (client, uri) => client.delete(uri)));

/** Calls that change something, over all resources. The service refuses some of them, which must not change any row. */
export const step: fc.Arbitrary<Step> = fc.oneof(
  ...[...creates, ...rest, ...creates, ...rest],
  ...[...changes, ...changesOfRest, ...removes],
);

/** Calls that read one entity or a page of a list. */
export const read: fc.Arbitrary<Step> = fc.constantFrom(...PATHS).chain((path) =>
  fc.oneof(
    fc.constant<Step>(({ client }) => client.get(`${path}?limit=5`)),
    on(path, (client, uri) => client.get(uri)),
    on(path, (client, uri) => client.get(`${path}?before_id=${uri.slice(path.length + 1)}`)),
  ),
);

/** Random calls over all resources, some at once. */
export const history = fc.array(fc.array(step, { minLength: 1, maxLength: 6 }), { minLength: 4, maxLength: 12 });

export async function play(player: Player, steps: readonly (readonly Step[])[]): Promise<void> {
  for (const together of steps) {
    const answers = await Promise.all(together.map((act) => act(player)));
    // No call of a history is beyond the contract.
    for (const answer of answers) expect(answer?.status ?? 200).toBeLessThan(500);
  }
}

/** Exactly this many random calls, for a test that looks at each. */
export const sampleOf = (calls: fc.Arbitrary<Step>, count: number): Step[] => fc.sample(calls, count);
