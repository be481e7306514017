import { setTimeout as sleep } from 'node:timers/promises';
import { runInThisContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { metric, type TestCredential, untilWritten, upload } from './support/decisions.js';
import { expireNow } from './support/expire.js';
import { newPublicKey } from './support/keys.js';
import { addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

/** When SSH credentials and API keys expire, and where tunnels of a credential may come from. */
let service: Service;
let admin: ApiClient;
let owner: TestPrincipal;
let stranger: TestPrincipal;

beforeAll(async () => {
  service = await startService({ ...GATEWAY, authFailuresPerMinute: 0 });
  admin = service.admin;
  owner = await addUser(service, 'member');
  stranger = await addUser(service, 'member');
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

const PAST = '2026-01-31T12:00:00.000Z';
const IN_THE_PAST = /^expires_at '2026-01-31T12:00:00\.000Z' is in the past; it is now 20\d\d-\d\d-\d\dT[\d:.]+Z\.$/;
const FUTURE = '2099-12-31T23:59:59.999Z';
const SOONER = '2099-01-01T00:00:00.000Z';

const newCredential = (acl: readonly string[] = [], client = owner.client): Promise<TestCredential> =>
  upload(service, client, { public_key: newPublicKey(), acl });
const newKey = async () => (await owner.client.post('/api_keys', {})).body;

interface Part {
  readonly name: string;
  readonly create: () => Promise<{ readonly id: string }>;
  readonly path: string;
  readonly type: string;
  /** A body, and the answer to it. */
  readonly put: object;
  readonly shown: object;
  readonly stored: object;
  readonly removed: object;
  /** Another body of the same meaning. */
  readonly same: object;
  readonly absent: RegExp;
  readonly wrong: readonly [body: object, code: string, msg: RegExp][];
  readonly strangers: readonly [status: number, code: string];
}

const EXPIRY = {
  path: 'expiry',
  put: { expires_at: FUTURE },
  shown: { expires_at: FUTURE },
  stored: { expires_at: FUTURE },
  removed: { expires_at: null },
  same: { expires_at: '2100-01-01t00:59:59.9999+01:00' },
  wrong: [
    [{}, 'ERR_TAS_400', /^expires_at is missing; .*DELETE/],
    [{ expires_at: null }, 'ERR_TAS_400', /^expires_at is missing/],
    [{ expires_at: 1 }, 'ERR_NGROK_215', /^expires_at must be a string/],
    [{ expires_at: '' }, 'ERR_TAS_400', /^expires_at '' is not an RFC 3339 time/],
    [{ expires_at: '2099-02-29T00:00:00Z' }, 'ERR_TAS_400', /is not an RFC 3339 time/],
    [{ expires_at: '2099-13-01T00:00:00Z' }, 'ERR_TAS_400', /is not an RFC 3339 time/],
    [{ expires_at: '2099-01-01' }, 'ERR_TAS_400', /is not an RFC 3339 time/],
    [{ expires_at: '2099-01-01T00:00:00' }, 'ERR_TAS_400', /is not an RFC 3339 time/],
    [{ expires_at: '2099-01-01T24:00:00Z' }, 'ERR_TAS_400', /is not an RFC 3339 time/],
    [{ expires_at: '2099-01-01T23:59:60Z' }, 'ERR_TAS_400', /is not an RFC 3339 time/],
    [{ expires_at: '1969-12-31T23:59:59Z' }, 'ERR_TAS_400', /is not within the years 1970 to 9999/],
    [{ expires_at: '9999-12-31T23:59:59-01:00' }, 'ERR_TAS_400', /is not within the years 1970 to 9999/],
    [{ expires_at: PAST }, 'ERR_TAS_400', IN_THE_PAST],
    [{ expires_at: FUTURE, nope: 1 }, 'ERR_NGROK_214', /'nope' is not a field.*expires_at/],
  ],
} satisfies Partial<Part>;

const PARTS: readonly Part[] = [
  {
    ...EXPIRY,
    name: 'an SSH credential',
    create: newCredential,
    type: 'ssh_credential_expiry_changed.v1',
    absent: /^The SSH credential has no expiry/,
    strangers: [403, 'ERR_NGROK_635'],
  },
  {
    ...EXPIRY,
    name: 'an API key',
    create: newKey,
    type: 'api_key_expiry_changed.v1',
    absent: /^The API key has no expiry/,
    strangers: [404, 'ERR_TAS_404'],
  },
  {
    name: 'an SSH credential',
    path: 'source_restriction',
    create: newCredential,
    type: 'ssh_credential_source_restriction_changed.v1',
    put: { cidrs: ['192.0.2.7', '2001:DB8:0::/32', '192.0.2.7/32'] },
    shown: { cidrs: ['192.0.2.7/32', '2001:db8::/32'] },
    stored: { source_cidrs: ['192.0.2.7/32', '2001:db8::/32'] },
    removed: { source_cidrs: null },
    same: { cidrs: ['::ffff:192.0.2.7', '2001:db8::/32'] },
    absent: /^The SSH credential has no source restriction/,
    wrong: [
      [{}, 'ERR_TAS_400', /^cidrs is missing; .*DELETE/],
      [{ cidrs: [] }, 'ERR_TAS_400', /^cidrs is empty/],
      [{ cidrs: '10.0.0.0/8' }, 'ERR_NGROK_215', /^cidrs must be a list/],
      [{ cidrs: ['::1', null] }, 'ERR_TAS_400', /^cidrs\[1\] must be a string/],
      [
        { cidrs: ['10.1.2.3/8'] },
        'ERR_TAS_400',
        /^cidrs\[0\] '10.1.2.3\/8' has bits after its prefix; send 10.0.0.0\/8/,
      ],
      [{ cidrs: Array.from({ length: 101 }, (_, n) => `10.0.0.${n}`) }, 'ERR_TAS_400', /the maximum is 100/],
      [{ cidrs: ['::1'], nope: 1 }, 'ERR_NGROK_214', /'nope' is not a field.*cidrs/],
    ],
    strangers: [403, 'ERR_NGROK_635'],
  },
];

const resourceOf = ({ type }: Part): string => (type.startsWith('api_key') ? '/api_keys' : '/ssh_credentials');
const eventsOf = async (id: string) =>
  (await service.pool.query('select type, data from events where stream_id = $1 order by position', [id])).rows.slice(
    1,
  );

describe.each(PARTS)('the $path of $name', (part) => {
  const { path, put, shown, type } = part;
  let [entity, uri]: [{ id: string }, string] = [{ id: '' }, ''];
  beforeAll(async () => {
    entity = await part.create();
    uri = `${resourceOf(part)}/${entity.id}/${path}`;
  });

  it('is set, shown and removed, each with one event; the resource of a credential shows it while it is set', async () => {
    const before = (await owner.client.get(`${resourceOf(part)}/${entity.id}`)).body;
    await expectRefusal(() => owner.client.get(uri), 404, 'ERR_TAS_404', part.absent);
    const answer = await owner.client.put(uri, put);
    expect(answer).toMatchObject({ status: 200, body: shown });
    expect([answer.headers.get('etag'), answer.headers.get('log-position')]).toEqual(['"2"', expect.any(String)]);
    const found = await admin.get(uri);
    expect([found.status, found.body, found.headers.get('etag')]).toEqual([200, shown, '"2"']);
    expect((await owner.client.get(`${resourceOf(part)}/${entity.id}`)).body).toEqual({ ...before, ...part.stored });
    expect(await owner.client.delete(uri)).toMatchObject({ status: 204, body: undefined });
    await expectRefusal(() => owner.client.get(uri), 404, 'ERR_TAS_404', part.absent);
    expect((await owner.client.get(`${resourceOf(part)}/${entity.id}`)).body).toEqual(before);
    expect((await eventsOf(entity.id)).map((event) => [event.type, JSON.parse(event.data)])).toEqual([
      [type, part.stored],
      [type, part.removed],
    ]);
    // As it was before: by the position of the event that set it.
    const asOf = answer.headers.get('log-position');
    expect((await owner.client.get(`${uri}?as_of=${asOf}`)).body).toEqual(shown);
  });

  it('that stays the same records no event', async () => {
    await owner.client.put(uri, put);
    const before = await eventCount();
    expect((await owner.client.put(uri, part.same)).body).toEqual(shown);
    expect(await eventCount()).toBe(before);
    await owner.client.delete(uri);
    expect((await owner.client.delete(uri)).status).toBe(204);
    expect(await eventCount()).toBe(before + 1);
  });

  it('answers 400 to an invalid body, and says what is wrong', async () => {
    for (const [body, code, msg] of part.wrong) await expectRefusal(() => owner.client.put(uri, body), 400, code, msg);
  });

  it('is changed by the owner and admins alone', async () => {
    expect((await admin.put(uri, put)).status).toBe(200);
    const [status, code] = part.strangers;
    await expectRefusal(() => stranger.client.put(uri, put), status, code);
    await expectRefusal(() => stranger.client.delete(uri), status, code);
    expect((await stranger.client.get(uri)).status).toBe(status === 403 ? 200 : 404);
  });
});

describe('POST /ssh_credentials with an expiry and a source restriction', () => {
  const RESTRICTED = { expires_at: '2100-01-01t00:59:59.9999+01:00', source_cidrs: ['192.0.2.7', '2001:DB8:0::/32'] };
  const create = (body: object, headers: Record<string, string> = {}) =>
    owner.client.post('/ssh_credentials', { public_key: newPublicKey(), ...body }, headers);

  it('makes the credential whole in one event, and shows both; null counts as absent', async () => {
    const made = await create(RESTRICTED);
    expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"']);
    const uri = `/ssh_credentials/${made.body.id}`;
    const { body: plain } = await create({ expires_at: null, source_cidrs: null });
    const shown = { expires_at: FUTURE, source_cidrs: ['192.0.2.7/32', '2001:db8::/32'] };
    expect(made.body).toMatchObject(shown);
    expect(Object.keys(made.body)).toEqual([...Object.keys(plain), ...Object.keys(shown)]);
    expect((await owner.client.get(`${uri}/expiry`)).body).toEqual({ expires_at: FUTURE });
    const cidrs = ['192.0.2.7/32', '2001:db8::/32'];
    expect((await owner.client.get(`${uri}/source_restriction`)).body).toEqual({ cidrs });
    expect((await owner.client.get(`${uri}/expiry?as_of=${made.headers.get('log-position')}`)).status).toBe(200);
    const { events } = (await admin.get(`/events?stream=${made.body.id}`)).body;
    expect(events).toHaveLength(1);
    expect(events[0].data).toMatchObject({ expires_at: FUTURE, source_cidrs: cidrs });
  });

  it.each([
    [{ expires_at: 'tomorrow' }, 'ERR_TAS_400', /^expires_at 'tomorrow' is not an RFC 3339 time/],
    [{ expires_at: PAST }, 'ERR_TAS_400', IN_THE_PAST],
    [{ source_cidrs: [] }, 'ERR_TAS_400', /^source_cidrs is empty; .*leave the restriction out/],
  ])('is refused as a whole: %j', async (body, code, message) => {
    await expectRefusal(() => create(body), 400, code, message);
  });
});

it.each([
  ['PATCH', '/ssh_credentials', { usage: {} }, /'usage' is not a field of this body; GET shows it by `include` alone/],
  ['POST', '/ssh_credentials', { fingerprint: '' }, /'fingerprint' is not a field .* by `include` alone/],
  ['POST', '/api_keys', { expires_at: FUTURE }, /set it by PUT \/api_keys\/\{id\}\/expiry\.$/],
  ['POST', '/bot_users', { role: 'admin' }, /'role' .* set it by PUT \/bot_users\/\{id\}\/role\.$/],
  ['PATCH', '/ssh_credentials', { constructor: 1 }, /'constructor' is not a field of this body; the fields are/],
])('%s %s with a field of another request says which: %j', async (method, path, body, message) => {
  const { id } = path === '/api_keys' ? await newKey() : await newCredential();
  const uri = method === 'POST' ? path : `${path}/${id}`;
  await expectRefusal(() => owner.client.json(method, uri, body), 400, 'ERR_NGROK_214', message);
});

it('histories name the expiry and the restriction, before and after', async () => {
  const { id } = await newCredential();
  await owner.client.put(`/ssh_credentials/${id}/expiry`, { expires_at: SOONER });
  await owner.client.put(`/ssh_credentials/${id}/expiry`, { expires_at: FUTURE });
  await owner.client.put(`/ssh_credentials/${id}/source_restriction`, { cidrs: ['::1'] });
  const { events } = (await owner.client.get(`/ssh_credentials/${id}/events`)).body;
  expect(events.slice(1).map(({ changes }: { changes: object }) => changes)).toEqual([
    [{ field: 'expires_at', from: null, to: SOONER }],
    [{ field: 'expires_at', from: SOONER, to: FUTURE }],
    [{ field: 'source_restriction', from: null, to: { cidrs: ['::1/128'] } }],
  ]);
});

/** Runs `act` while the clock of the service's process is wrong by so many days. */
async function withClockOff<T>(days: number, act: () => Promise<T>): Promise<T> {
  const realm = runInThisContext('globalThis');
  const RightDate: DateConstructor = realm.Date;
  const now = () => RightDate.now() + days * 86_400_000;
  realm.Date = class extends RightDate {
    constructor(...parts: readonly number[]) {
      super(...((parts.length === 0 ? [now()] : parts) as [number]));
    }
    static override now = now;
  };
  try {
    return await act();
  } finally {
    realm.Date = RightDate;
  }
}

/** A moment a little after now, by the database's clock; and a wait for it. */
async function soon(): Promise<{ readonly expires_at: string; readonly passed: () => Promise<void> }> {
  const { rows } = await service.pool.query(`select clock_timestamp() + interval '400 ms' as at`);
  const { at } = rows[0];
  const isPassed = async () => (await service.pool.query('select clock_timestamp() > $1 as is', [at])).rows[0].is;
  const passed = async () => {
    while (!(await isPassed())) await sleep(20);
  };
  return { expires_at: at.toISOString(), passed };
}

describe('an API key that has expired', () => {
  const expire = (id: string, expires_at?: string, by = owner.client) =>
    expires_at === undefined ? expireNow(by, `/api_keys/${id}`) : by.put(`/api_keys/${id}/expiry`, { expires_at });

  it('is refused with 401 and its own sentence, cannot extend itself, and works again once another key extends it', async () => {
    const key = await newKey();
    const client = admin.as(key.token);
    expect((await client.get('/ssh_credentials')).status).toBe(200);
    expect((await expire(key.id)).status).toBe(200);
    await expectRefusal(() => client.get('/ssh_credentials'), 401, 'ERR_NGROK_203', /^The API key has expired\.$/);
    await expectRefusal(() => expire(key.id, FUTURE, client), 401, 'ERR_NGROK_203', /^The API key has expired\.$/);
    expect((await expire(key.id, FUTURE)).status).toBe(200);
    expect((await client.get('/ssh_credentials')).status).toBe(200);
  });

  it('says so also if its owner is inactive, as a revoked key does', async () => {
    const user = await addUser(service, 'member');
    await expire(user.keyId, undefined, admin);
    await admin.patch(`/users/${user.id}`, { active: false });
    await expectRefusal(() => user.client.get('/users'), 401, 'ERR_NGROK_203', /^The API key has expired\.$/);
  });

  it('is refused from that moment on, without an event', async () => {
    const key = await newKey();
    const { expires_at, passed } = await soon();
    await expire(key.id, expires_at);
    const before = await eventCount();
    await passed();
    expect((await admin.as(key.token).get('/ssh_credentials')).status).toBe(401);
    expect((await admin.as(key.token).post('/ssh_credentials', { public_key: newPublicKey() })).status).toBe(401);
    expect(await eventCount()).toBe(before);
  });

  it('has expired by the clock of the database, however wrong that of the instance is', async () => {
    const [valid, expired] = [await newKey(), await newKey()];
    await expire(expired.id);
    await expire(valid.id, new Date(Date.now() + 3_600_000).toISOString());
    for (const days of [-1000, 1000]) {
      const statuses = await withClockOff(days, async () => [
        (await admin.as(valid.token).get('/users')).status,
        (await admin.as(expired.token).get('/users')).status,
      ]);
      expect(statuses).toEqual([200, 401]);
    }
  });
});

const TARGET = { domain: 'app.example.com' };
const authorize = async ({ fingerprint }: TestCredential, source?: string, target: object = TARGET) =>
  (await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target, source })).body;
const identify = ({ fingerprint }: TestCredential) => service.gateway.post('/ssh_gateway/identify', { fingerprint });
const linesOf = ({ fingerprint }: TestCredential) =>
  service.gateway.get(`/ssh_gateway/authorized_keys?${new URLSearchParams({ type: 'ssh-ed25519', fingerprint })}`);
const recheck = async (...known: readonly (readonly [id: string, version: number])[]) =>
  (
    await service.gateway.post(
      '/ssh_gateway/recheck',
      known.map(([credential_id, version]) => ({ credential_id, version })),
    )
  ).body.changed;
const expire = ({ id }: TestCredential, expires_at?: string) =>
  expires_at === undefined
    ? expireNow(owner.client, `/ssh_credentials/${id}`)
    : owner.client.put(`/ssh_credentials/${id}/expiry`, { expires_at });
const restrict = ({ id }: TestCredential, ...cidrs: string[]) =>
  owner.client.put(`/ssh_credentials/${id}/source_restriction`, { cidrs });

/** A younger credential with the same key. */
const another = async (credential: TestCredential, acl: readonly string[] = [], client = owner.client) => {
  const { public_key } = (await owner.client.get(`/ssh_credentials/${credential.id}`)).body;
  return upload(service, client, { public_key, acl });
};

describe('an SSH credential that has expired', () => {
  it('lets no gateway in: authorize names the reason, identify and authorized_keys leave it out, recheck reports it', async () => {
    const credential = await newCredential();
    await expire(credential, FUTURE);
    expect(await authorize(credential)).toMatchObject({ allowed: true, version: 2 });
    expect((await linesOf(credential)).body).toContain('expiry-time="20991231235959Z"');
    await expire(credential);
    const refusal = { allowed: false, reason: 'expired', matched_rule: null, credential_id: credential.id, version: 3 };
    expect(await authorize(credential)).toMatchObject(refusal);
    expect((await identify(credential)).status).toBe(404);
    expect((await linesOf(credential)).status).toBe(404);
    expect(await recheck([credential.id, 2], [credential.id, 3])).toEqual(
      [1, 2].map(() => ({ credential_id: credential.id, reason: 'expired', version: 3 })),
    );
    await owner.client.delete(`/ssh_credentials/${credential.id}/expiry`);
    expect(await authorize(credential)).toMatchObject({ allowed: true, version: 4 });
    expect(await recheck([credential.id, 3])).toMatchObject([{ reason: 'changed', version: 4 }]);
  });

  it('is refused from that moment on, without an event or another version', async () => {
    const credential = await newCredential();
    const { expires_at, passed } = await soon();
    await expire(credential, expires_at);
    await passed();
    expect(await authorize(credential)).toMatchObject({ allowed: false, reason: 'expired', version: 2 });
    expect(await recheck([credential.id, 2])).toMatchObject([{ reason: 'expired', version: 2 }]);
  });

  it('has expired by the clock of the database, however wrong that of the instance is', async () => {
    const [valid, expired] = [await newCredential(), await newCredential()];
    await expire(expired);
    await expire(valid, new Date(Date.now() + 3_600_000).toISOString());
    for (const days of [-1000, 1000]) {
      const seen = await withClockOff(days, async () => [
        (await authorize(valid)).reason,
        (await authorize(expired)).reason,
        (await identify(valid)).status,
        (await linesOf(expired)).status,
        await recheck([valid.id, 2], [expired.id, 2]),
      ]);
      expect(seen).toEqual(['permitted', 'expired', 200, 404, [expect.objectContaining({ reason: 'expired' })]]);
    }
  });

  it('leaves the other credentials of its key as they are, and is the reason only if none of them counts', async () => {
    const oldest = await newCredential(['bind:app.example.com']);
    const other = await another(oldest, ['bind:web.example.com']);
    await expire(oldest);
    expect(await authorize(oldest)).toMatchObject({ reason: 'not_permitted', credential_id: other.id });
    expect((await identify(oldest)).body.credentials).toMatchObject([{ credential_id: other.id }]);
    expect((await linesOf(oldest)).body).toMatch(/^[^\n]*"web[^\n]* sshcr_\w+@1\n$/);
    await expire(other);
    expect(await authorize(oldest)).toMatchObject({ reason: 'expired', credential_id: oldest.id });
    const user = await addUser(service, 'member');
    await service.pool.query('update ssh_credentials set owner_id = $2 where id = $1', [oldest.id, user.id]);
    await admin.patch(`/users/${user.id}`, { active: false });
    expect(await authorize(oldest)).toMatchObject({ reason: 'expired', credential_id: other.id });
  });

  it('tells gateways in how many milliseconds: authorize of the last one that permits, and recheck of one that has changed', async () => {
    const expireIn = (credential: TestCredential, ms: number) =>
      expire(credential, new Date(Date.now() + ms).toISOString());
    const expectAbout = (ms: number, { expires_in_ms: told }: { readonly expires_in_ms?: number }) =>
      expect([told, told !== undefined && told <= ms && told > ms - 20_000]).toEqual([told, true]);
    const from = '192.0.2.7';
    const oldest = await newCredential();
    for (const answer of [
      await authorize(oldest, from),
      await authorize(await newCredential(['bind:web.example.com'])),
    ])
      expect(answer).not.toHaveProperty('expires_in_ms');
    await expireIn(oldest, 60_000);
    expectAbout(60_000, await authorize(oldest, from));
    const later = await another(oldest, ['bind:app.example.com']);
    await expireIn(later, 120_000);
    const elsewhere = await another(oldest);
    await restrict(elsewhere, '198.51.100.0/24');
    await another(oldest, ['bind:web.example.com']);
    const targets = [TARGET, { domain: 'web.example.com' }, { domain: 'other.example.com' }];
    const [app, web, other] = (await authorize(oldest, from, targets)).decisions;
    expectAbout(120_000, app);
    expectAbout(60_000, other);
    expect([app, web, other]).toMatchObject([1, 2, 3].map(() => ({ allowed: true, credential_id: oldest.id })));
    expect(web).not.toHaveProperty('expires_in_ms');
    expect(await authorize(oldest, '198.51.100.1')).not.toHaveProperty('expires_in_ms');
    const [first, second, ...rest] = await recheck([oldest.id, 1], [later.id, 1], [elsewhere.id, 1], [oldest.id, 2]);
    expectAbout(60_000, first);
    expectAbout(120_000, second);
    expect(rest).toEqual([{ credential_id: elsewhere.id, reason: 'changed', version: 2 }]);
    await expire(oldest);
    expect(await recheck([oldest.id, 1])).toEqual([{ credential_id: oldest.id, reason: 'expired', version: 3 }]);
  });

  it('takes no place among the hundred credentials of a key that count', async () => {
    const oldest = await newCredential(['bind:web.example.com']);
    await expire(oldest);
    await service.pool.query(
      `insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
         key_type, key_bits, key_blob, fingerprint, exclusive, expires_at)
       select account_id, 'sshcr_z' || to_char(n, 'FM00000') || right(id, 21), 1, now(), '', '', '', acl, owner_id,
         key_type, key_bits, key_blob, fingerprint, false, expires_at
       from ssh_credentials, generate_series(1, 150) n where id = $1`,
      [oldest.id],
    );
    expect(await authorize(oldest)).toMatchObject({ reason: 'expired', credential_id: oldest.id });
    await service.pool.query(`update ssh_credentials set expires_at = null, acl = '{}' where id like 'sshcr_z00150%'`);
    expect(await authorize(oldest)).toMatchObject({ allowed: true });
    await service.pool.query(`update ssh_credentials set expires_at = null, acl = '{}' where fingerprint = $1`, [
      oldest.fingerprint,
    ]);
    expect((await identify(oldest)).body.credentials).toHaveLength(100);
  });

  it('is recorded and counted as expired', async () => {
    const line = 'tunnel_access_bind_decisions_total{reason="expired"}';
    const before = await metric(service.gateway, line);
    const credential = await newCredential();
    await expire(credential);
    await authorize(credential, 'somewhere');
    expect(await metric(service.gateway, line)).toBe(before + 1);
    await untilWritten(service.gateway);
    const { bind_decisions } = (await admin.get(`/bind_decisions?credential_id=${credential.id}`)).body;
    expect(bind_decisions).toMatchObject([{ allowed: false, reason: 'expired', source: 'somewhere' }]);
  });
});

describe('an SSH credential with a source restriction', () => {
  const REFUSED = { allowed: false, reason: 'source_not_allowed', matched_rule: null };

  it('permits tunnels from its networks alone, in every form in which a gateway may name an address', async () => {
    const credential = await newCredential();
    expect(await authorize(credential, 'no address')).toMatchObject({ allowed: true });
    await restrict(credential, '192.0.2.0/24', '2001:db8::/32');
    const inside = ['192.0.2.7', '192.0.2.7:50312', '::ffff:192.0.2.7', '2001:db8::1', '[2001:db8::1]:22'];
    for (const source of inside)
      expect(await authorize(credential, source)).toMatchObject({ allowed: true, version: 2 });
    const outside = ['192.0.3.7', '2001:db9::1', '192.0.2.7 (a.example)', 'a.example', '', '192.0.2.07', undefined];
    for (const source of outside) expect(await authorize(credential, source)).toMatchObject(REFUSED);
    expect(await recheck([credential.id, 1])).toMatchObject([{ reason: 'changed', version: 2 }]);
    await owner.client.delete(`/ssh_credentials/${credential.id}/source_restriction`);
    expect(await authorize(credential)).toMatchObject({ allowed: true, version: 3 });
  });

  it('is refused whatever the target is, and names the rule of no other place', async () => {
    const credential = await newCredential(['bind:app.example.com']);
    await restrict(credential, '192.0.2.7');
    const { decisions } = await authorize(credential, '192.0.2.8', [TARGET, { domain: 'web.example.com' }]);
    expect(decisions).toMatchObject([REFUSED, REFUSED]);
  });

  it('leaves the other credentials of its key as they are', async () => {
    const restricted = await newCredential(['bind:app.example.com']);
    await restrict(restricted, '192.0.2.0/24');
    const other = await another(restricted, ['bind:web.example.com']);
    const targets = ['app', 'web', 'none'].map((name) => ({ domain: `${name}.example.com` }));
    const reasonsFrom = async (source: string) =>
      (await authorize(restricted, source, targets)).decisions.map(
        ({ reason, credential_id }: Record<string, string>) => [reason, credential_id],
      );
    expect(await reasonsFrom('192.0.2.1')).toEqual([
      ['permitted', restricted.id],
      ['permitted', other.id],
      ['not_permitted', restricted.id],
    ]);
    expect(await reasonsFrom('192.0.3.1')).toEqual([
      ['source_not_allowed', restricted.id],
      ['permitted', other.id],
      ['not_permitted', other.id],
    ]);
    const lines = (await linesOf(restricted)).body.trimEnd().split('\n');
    expect(lines).toEqual([
      expect.stringMatching(/^restrict,from="192\.0\.2\.0\/24",port-forwarding,permitlisten="app.*permitlisten="web/),
      expect.stringMatching(/^restrict,port-forwarding,permitlisten="web\.example\.com:\*" /),
    ]);
  });
});

it('is kept to the last second of the year 9999, on a server whose time zone is in the next year by then', async () => {
  const expires_at = '9999-12-31T23:59:59.999Z';
  const [{ current_database: name }] = (await service.pool.query('select current_database()')).rows;
  await service.pool.query(`alter database ${name} set timezone = 'Europe/Berlin'`);
  const copy = await startCopy(service, GATEWAY);
  const { id } = await newCredential([], copy.admin);
  const { id: keyId } = (await copy.admin.post('/api_keys', {})).body;
  for (const path of [`/ssh_credentials/${id}`, `/api_keys/${keyId}`]) {
    expect(await copy.admin.put(`${path}/expiry`, { expires_at })).toMatchObject({ status: 200 });
    expect(await copy.admin.get(`${path}/expiry`)).toMatchObject({ status: 200, body: { expires_at } });
    expect(await copy.admin.patch(path, { description: 'until the end' })).toMatchObject({ status: 200 });
    expect(await copy.admin.get(`${path}/expiry`)).toMatchObject({ status: 200, body: { expires_at } });
  }
  await copy.stop();
  await service.pool.query(`alter database ${name} reset timezone`);
});
