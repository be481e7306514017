import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { type Answer, ApiClient } from './support/api-client.js';
import { expireNow } from './support/expire.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { type StalledRequest, stall } from './support/raw-http.js';
import { MAKERS, RESOURCE_SAMPLES } from './support/route-samples.js';
import { type Service, startCopy, startService } from './support/service.js';

/** Rights are decided when the change is made: in the append, in the order of the log. */

/** Long enough for requests that were sent to wait in the queue. If it is not, a test proves nothing but does not fail. */
const QUEUED_MS = 300;

let service: Service;
/** Another instance on the same database. */
let copy: Awaited<ReturnType<typeof startCopy>>;
let account: TestPrincipal;

beforeAll(async () => {
  service = await startService({ authFailuresPerMinute: 0 });
  copy = await startCopy(service, { authFailuresPerMinute: 0 });
  account = await addAccount(service);
});
afterAll(async () => {
  await copy.stop();
  await service.stop();
});

const newAdmin = (): Promise<TestPrincipal> => addUser(service, 'admin', account.client);

/** A change that an admin may make, and the status that a member gets for it. */
interface Change {
  readonly name: string;
  readonly method: string;
  readonly path: string;
  readonly body: string | undefined;
  readonly asMember: number;
}

/** A device has no role that could be taken: its key is, see enrollment.spec.ts. */
const CHANGING = Object.entries(RESOURCE_SAMPLES).filter(([route]) => !/^GET |\/enroll$/.test(route));

function statusAsMember(route: string): number {
  if (route === 'DELETE /enrollment_keys/:id') return 404;
  if (/ .(users|bot_users|service_users|enrollment_keys)/.test(route)) return 403;
  if (/ssh_credentials\/:id/.test(route)) return 403;
  if (/api_keys\/:id/.test(route)) return 404;
  return route.startsWith('POST') ? 201 : route.startsWith('DELETE') ? 204 : 200;
}

/** A call of every route that changes something, and the changes that would keep a revoked admin in power. */
async function makeChanges(): Promise<Change[]> {
  const { client, id } = account;
  const samples = CHANGING.map(async ([name, { on, body, before }]) => {
    const [method = '', pattern = ''] = name.split(' ');
    const made = on === undefined ? undefined : (await client.post(`/${on}`, await MAKERS[on](client))).body;
    const path = pattern.replace(':id', made?.id);
    if (before !== undefined) await client.json(before.method, path, before.body());
    const sent = body === undefined ? undefined : JSON.stringify(await body(client));
    return { name, method, path, body: sent, asMember: statusAsMember(name) };
  });
  const member = await addUser(service, 'member', client);
  const grab = (name: string, method: string, path: string, body: object): Change => ({
    ...{ name, method, path, body: JSON.stringify(body), asMember: 403 },
  });
  return [
    ...(await Promise.all(samples)),
    grab('an admin key', 'POST', '/api_keys', { owner_id: id }),
    grab('another admin', 'POST', '/users', { ...MAKERS.users(), role: 'admin' }),
    grab('a promotion', 'PATCH', `/users/${member.id}`, { role: 'admin' }),
    grab('a credential of another user', 'POST', '/ssh_credentials', { ...MAKERS.ssh_credentials(), owner_id: id }),
  ];
}

let unmade: Promise<Change[]> | undefined;
/** Changes that nobody has made. Those who may make none of them leave them to the next test. */
function everyChange(areMade: boolean): Promise<Change[]> {
  const changes = unmade ?? makeChanges();
  unmade = areMade ? undefined : changes;
  return changes;
}

interface Way {
  take(by: ApiClient, from: TestPrincipal): Promise<Answer>;
  statusOf(change: Change): number;
}

const EXPIRED = 'left with an expired key';
const WAYS: Record<string, Way> = {
  deleted: { take: (by, { id }) => by.delete(`/users/${id}`), statusOf: () => 401 },
  deactivated: { take: (by, { id }) => by.patch(`/users/${id}`, { active: false }), statusOf: () => 403 },
  demoted: { take: (by, { id }) => by.patch(`/users/${id}`, { role: 'member' }), statusOf: ({ asMember }) => asMember },
  'left without the key': { take: (by, { keyId }) => by.delete(`/api_keys/${keyId}`), statusOf: () => 401 },
  [EXPIRED]: {
    take: (by, { keyId }) => expireNow(by, `/api_keys/${keyId}`),
    statusOf: () => 401,
  },
};

const expected = (changes: readonly Change[], { statusOf }: Way) =>
  Object.fromEntries(changes.map((change) => [change.name, statusOf(change)]));

const statuses = (changes: readonly Change[], answers: readonly { status: number }[]) =>
  Object.fromEntries(changes.map(({ name }, n) => [name, answers[n]?.status]));

const positionOf = ({ headers }: Answer): number => Number(headers.get('log-position'));

/** The number of events by a principal after a position of the log. */
async function eventsBy({ accountId, id }: TestPrincipal, after: number): Promise<number> {
  const { rows } = await service.pool.query(
    `select count(*)::int as n from events where account_id = $1 and position > $2 and metadata::json ->> 'actor' = $3`,
    [accountId, after, id],
  );
  return rows[0].n;
}

const successesIn = (by: Record<string, number>): number => Object.values(by).filter((status) => status < 300).length;

/** Sends all but the body, and returns when the caller is authenticated and the service asks for it. */
async function stallAs(by: TestPrincipal, { method, path, body }: Change, more = {}): Promise<StalledRequest> {
  const headers = { authorization: `Bearer ${by.client.token}`, expect: '100-continue', ...more };
  const request = stall(service.app.url, method, path, headers, body ?? '');
  await request.isAwaited();
  return request;
}

/** Makes appends to the account's log wait. */
async function holdHead(): Promise<{ release(): Promise<void> }> {
  const holder = new pg.Client(service.databaseUrl);
  await holder.connect();
  await holder.query('begin');
  await holder.query('select 1 from log_heads where account_id = $1 for update', [account.accountId]);
  return { release: () => holder.end() };
}

async function untilWaiting(appends: number): Promise<void> {
  for (;;) {
    const { rows } = await service.pool.query(
      // Appends alone: anything else may wait for a lock too.
      `select count(*)::int as n from pg_stat_activity
        where datname = current_database() and wait_event_type = 'Lock' and query like '%log_heads%'`,
    );
    if (rows[0].n >= appends) return;
    await sleep(10);
  }
}

describe('an admin whose right is taken while a body is on its way changes nothing that needed it:', () => {
  it.each(Object.entries(WAYS))('%s', async (_, way) => {
    const victim = await newAdmin();
    const changes = (await everyChange(way === WAYS.demoted)).filter(({ body }) => body !== undefined);
    const stalled = await Promise.all(changes.map((change) => stallAs(victim, change)));
    const taken = await way.take(account.client, victim);
    const answers = await Promise.all(stalled.map((request) => request.finish()));
    expect(statuses(changes, answers)).toEqual(expected(changes, way));
    expect(await eventsBy(victim, positionOf(taken))).toBe(successesIn(expected(changes, way)));
  });
});

describe('an admin whose right is taken while a change waits in the queue of the log changes nothing that needed it:', () => {
  const BY = {
    'by a batch before it': { takenBy: () => account.client, isFirst: true },
    'in the same batch': { takenBy: () => account.client, isFirst: false },
    'by another instance': { takenBy: () => new ApiClient(copy.app.url, account.client.token), isFirst: true },
  };
  // Another instance takes each right as a batch before it does: through the database.
  const cases = Object.entries(WAYS).flatMap(([name, way]) =>
    Object.entries(BY).flatMap(([where, by]) =>
      where !== 'by another instance' || name === 'demoted' ? [{ name, where, way, ...by }] : [],
    ),
  );

  it.each(cases)('$name $where', async ({ way, takenBy, isFirst }) => {
    const victim = await newAdmin();
    const changes = await everyChange(way === WAYS.demoted);
    const held = await holdHead();
    const batchUnderWay = isFirst ? undefined : account.client.post('/edges/tcp', {});
    if (!isFirst) await untilWaiting(1);
    const taking = way.take(takenBy(), victim);
    await (isFirst ? untilWaiting(1) : sleep(QUEUED_MS));
    const calls = changes.map(({ method, path, body }) =>
      victim.client.send(method, path, body, { 'content-type': 'application/json' }),
    );
    await sleep(QUEUED_MS);
    await held.release();
    await batchUnderWay;
    const answers = await Promise.all(calls);
    expect(statuses(changes, answers)).toEqual(expected(changes, way));
    expect(await eventsBy(victim, positionOf(await taking))).toBe(successesIn(expected(changes, way)));
  });
});

describe('a caller whose key was revoked while the body was on its way gets 401', () => {
  const answerTo = async (change: Omit<Change, 'name' | 'asMember'>, headers = {}): Promise<number> => {
    const { body: key } = await account.client.post('/api_keys', {});
    const by = { ...account, client: account.client.as(key.token), keyId: key.id };
    const request = await stallAs(by, { name: '', asMember: 0, ...change }, headers);
    await account.client.delete(`/api_keys/${key.id}`);
    return (await request.finish()).status;
  };

  it('for a PATCH that changes nothing', async () => {
    const { body: edge } = await account.client.post('/edges/tcp', { description: 'same' });
    const body = JSON.stringify({ description: 'same' });
    expect(await answerTo({ method: 'PATCH', path: `/edges/tcp/${edge.id}`, body })).toBe(401);
  });

  it('for a request that is in the log already under its Idempotency-Key', async () => {
    const headers = { 'idempotency-key': 'once' };
    const [method, path, body] = ['POST', '/edges/tcp', JSON.stringify({ description: 'once' })];
    expect((await account.client.json(method, path, { description: 'once' }, headers)).status).toBe(201);
    expect(await answerTo({ method, path, body }, headers)).toBe(401);
  });

  it('for a request that is refused otherwise: an unknown id, and a public key of another account', async () => {
    const unknown = { method: 'PATCH', path: '/edges/tcp/edgtcp_3MPflUxi65UVJUZK1y0iEJKUOhV', body: '{}' };
    expect(await answerTo(unknown)).toBe(401);
    const body = { public_key: newPublicKey() };
    await service.admin.post('/ssh_credentials', body);
    expect(await answerTo({ method: 'POST', path: '/ssh_credentials', body: JSON.stringify(body) })).toBe(401);
  });
});

describe('a revocation that races with changes on two instances', () => {
  /** Each way at each instance. */
  const ROUNDS = 8;
  const WRITERS = 6;

  /** Creates users until it is refused; returns the last status. */
  async function createUsers(client: ApiClient): Promise<number> {
    for (;;) {
      const { status } = await client.post('/users', MAKERS.users());
      if (status !== 201) return status;
    }
  }

  it('has no event after it that needed the right', async () => {
    const urls = [service.app.url, copy.app.url];
    // An expiry takes the right at its time, and not with its event.
    const ways = Object.entries(WAYS).flatMap(([name, way]) => (name === EXPIRED ? [] : [way]));
    let raced = 0;
    for (let round = 0; round < ROUNDS; round += 1) {
      const victim = await newAdmin();
      const clients = urls.map((url) => new ApiClient(url, victim.client.token));
      const writers = Array.from({ length: WRITERS }, (_, n) => createUsers(clients[n % 2] as ApiClient));
      await sleep(5 + ((round * 7) % 40));
      const by = new ApiClient(urls[round % 2] ?? '', account.client.token);
      const taken = await (ways[round % ways.length] as Way).take(by, victim);
      expect(taken.status).toBeLessThan(300);
      for (const status of await Promise.all(writers)) expect([401, 403]).toContain(status);
      expect(await eventsBy(victim, positionOf(taken))).toBe(0);
      raced += await eventsBy(victim, 0);
    }
    expect(raced).toBeGreaterThan(ROUNDS);
  });

  it('stops no change of the others', async () => {
    const keys = await Promise.all(Array.from({ length: 40 }, () => account.client.post('/api_keys', {})));
    const deletions = keys.map(({ body }) => account.client.delete(`/api_keys/${body.id}`));
    const others = Array.from({ length: 40 }, () => account.client.post('/edges/tcp', {}));
    const answers = await Promise.all([...deletions, ...others]);
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([201, 204]));
  });
});

describe('a change of an entity that another account has', () => {
  it('does not wait for the changes of its owner, on any route', async () => {
    const changes = (await everyChange(true)).filter(({ path }) => /_[0-9A-Za-z]{27}/.test(path));
    const held = await holdHead();
    const call = ({ method, path, body }: Change, { client }: { client: ApiClient }): Promise<Answer> =>
      client.send(method, path, body, { 'content-type': 'application/json' });
    const own = changes.map((change) => call(change, account));
    await sleep(QUEUED_MS);
    const foreign = Promise.all(changes.map((change) => call(change, { client: service.admin })));
    const answers = await Promise.race([foreign, sleep(5_000)]);
    await held.release();
    expect((answers ?? []).map(({ status }) => status)).toEqual(changes.map(() => 404));
    for (const { status } of await Promise.all(own)) expect(status).toBeLessThan(300);
  });
});
