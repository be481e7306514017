import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { appendStatement } from '../src/event-log/append/append-statement.js';
import { prepareAppend } from '../src/event-log/append/prepared-append.js';
import { IdSource } from '../src/kernel/ids.js';
import type { Answer, ApiClient } from './support/api-client.js';
import { PATHS, playerOf, sampleOf, step } from './support/histories.js';
import { newPublicKey } from './support/keys.js';
import { appendOf, newEvent } from './support/log.js';
import { addManyCredentials, deleteEveryThird, headOf, idOfMany } from './support/many-credentials.js';
import { addAccount, addUser } from './support/principals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
beforeAll(async () => {
  service = await startService();
  admin = service.admin;
});
afterAll(() => service.stop());

const positionOf = ({ headers }: Answer): number => Number(headers.get('log-position'));
const newCredential = (client = admin): Promise<Answer> =>
  client.post('/ssh_credentials', { public_key: newPublicKey() });
const get = (path: string, asOf: string | number): Promise<Answer> =>
  admin.get(`${path}${path.includes('?') ? '&' : '?'}as_of=${encodeURIComponent(asOf)}`);

/** When the database recorded an event, as text with microseconds. */
async function timeOf(answer: Answer): Promise<string> {
  const { body } = await admin.get(`/events?after=${positionOf(answer) - 1}&limit=1`);
  return body.events[0].time;
}

/** Now, in milliseconds, and yet not before what was recorded until now, in microseconds. */
async function now(): Promise<Date> {
  await sleep(2);
  return new Date();
}

interface Item {
  readonly id: string;
  readonly owner_id: string;
  readonly public_key?: string;
}
const itemsOf = ({ body }: Answer): Item[] => Object.values<Item[]>(body).find(Array.isArray) ?? [];
const SOON = '2099-01-01T00:00:00Z';
const LATER = '2100-01-01T00:00:00Z';

/** The changes that the history records; each is one moment to ask about. */
const MOMENTS = 26;

describe('as_of at every position of a random history over all resources', () => {
  const allLists = (asOf?: string | number): Promise<unknown[]> =>
    Promise.all(PATHS.map(async (path) => (asOf === undefined ? await admin.get(path) : await get(path, asOf)).body));

  it('gives the earlier answer, by position and by time, for a list and for single resources', async () => {
    const by = playerOf(admin);
    const snapshots: { position: number; lists: unknown[]; time: string }[] = [];
    while (snapshots.length < MOMENTS) {
      const [act] = sampleOf(step, 1);
      const answer = await act?.(by);
      // A refused change and one that changes nothing are no moments of the log.
      if (answer === undefined || answer.status >= 400) continue;
      snapshots.push({ position: positionOf(answer), lists: await allLists(), time: await timeOf(answer) });
    }
    for (const [moment, { position, lists, time }] of snapshots.entries()) {
      expect(await allLists(position)).toEqual(lists);
      // A time becomes a position before the list is read, so one list of each moment is enough.
      const n = moment % PATHS.length;
      expect((await get(PATHS[n] ?? '', time)).body).toEqual(lists[n]);
    }
    const { position, lists } = snapshots[MOMENTS / 2] ?? { position: 0, lists: [] };
    for (const [n, path] of PATHS.entries()) {
      const items = Object.values(lists[n] as object).find(Array.isArray) as { id: string }[];
      for (const item of items) expect((await get(`${path}/${item.id}`, position)).body).toEqual(item);
      const gone = by.made[path].filter((id) => !items.some((item) => item.id === id));
      for (const id of gone) expect((await get(`${path}/${id}`, position)).status).toBe(404);
    }
  });
});

const OWNERS = ['ada', 'bob'];
const KEYS = [newPublicKey(), newPublicKey()];
const fingerprintOf = (key: string): string => {
  const hash = createHash('sha256').update(Buffer.from(key.split(' ')[1] ?? '', 'base64'));
  return `SHA256:${hash.digest('base64').replace('=', '')}`;
};
const ACTS = fc.record({
  act: fc.constantFrom('create', 'create', 'change', 'expire', 'delete', 'create key', 'delete key'),
  n: fc.nat(),
  owner_id: fc.constantFrom(...OWNERS),
  public_key: fc.constantFrom(...KEYS),
});

describe('as_of with a filter, at every position of a random life of credentials and keys', () => {
  it('finds what the whole list of that position shows of the field, and a member finds its own keys', async () => {
    const { client, id, accountId } = await addAccount(service);
    const member = await addUser(service, 'member', client);
    const made: Record<string, string[]> = { '/ssh_credentials': [], '/api_keys': [] };
    const create = async (path: string, body: object) => made[path]?.push((await client.post(path, body)).body.id);
    const one = (path: string, n: number): string => `${path}/${made[path]?.at(n % (made[path].length || 1))}`;
    for (const { act, n, owner_id, public_key } of fc.sample(ACTS, 50)) {
      if (act === 'create') await create('/ssh_credentials', { owner_id, public_key });
      if (act === 'change') await client.patch(one('/ssh_credentials', n), { description: `${n}` });
      if (act === 'expire') await client.put(`${one('/ssh_credentials', n)}/expiry`, { expires_at: SOON });
      if (act === 'delete') await client.delete(one('/ssh_credentials', n));
      if (act === 'create key') await create('/api_keys', { owner_id: n % 2 === 0 ? id : member.id });
      if (act === 'delete key') await client.delete(one('/api_keys', n));
    }
    const head = await headOf(service.pool, accountId);
    for (let position = 0; position <= head; position += 1) {
      const find = async (query: Record<string, string>, path = '/ssh_credentials', by = client): Promise<Item[]> =>
        itemsOf(await by.get(`${path}?${new URLSearchParams({ ...query, as_of: String(position) })}`));
      const [all, expiring, keys] = [
        await find({}),
        await find({ expiring_before: LATER }),
        await find({}, '/api_keys'),
      ];
      const isExpiring = (item: Item) => expiring.some((other) => other.id === item.id);
      for (const owner_id of OWNERS) {
        const owned = all.filter((item) => item.owner_id === owner_id);
        expect(await find({ owner_id })).toEqual(owned);
        expect(await find({ owner_id, expiring_before: LATER })).toEqual(owned.filter(isExpiring));
      }
      for (const key of KEYS) {
        expect(await find({ fingerprint: fingerprintOf(key) })).toEqual(all.filter((item) => item.public_key === key));
      }
      expect(await find({}, '/api_keys', member.client)).toEqual(keys.filter((item) => item.owner_id === member.id));
    }
  });
});

describe('a list of an owner as of a position, with some hundred entities', () => {
  it('has in its pages all that existed then, whether they still exist, ended before or ended since', async () => {
    const { pool } = service;
    const { accountId, client } = await addAccount(service);
    const existing = new Map<number, readonly number[]>([[await headOf(pool, accountId), []]]);
    await addManyCredentials(pool, { accountId, id: 'other' }, 300);
    await addManyCredentials(pool, { accountId, id: 'wanted' }, 700, 301);
    existing.set(
      await headOf(pool, accountId),
      Array.from({ length: 700 }, (_, n) => 1_000 - n),
    );
    // The first to end are others, older than hundreds of those that are wanted.
    for (const [owner, remainder] of [
      ['other', 1],
      ['wanted', 1],
      ['wanted', 0],
      ['wanted', 2],
    ] as const) {
      const before = existing.get(await headOf(pool, accountId)) ?? [];
      await deleteEveryThird(pool, { accountId, id: owner }, remainder);
      existing.set(
        await headOf(pool, accountId),
        owner === 'other' ? before : before.filter((n) => n % 3 !== remainder),
      );
      for (const [position, numbers] of existing) {
        const path = `/ssh_credentials?owner_id=wanted&as_of=${position}`;
        expect((await client.pages(path, 'ssh_credentials')).flat()).toEqual(numbers.map(idOfMany));
      }
    }
  });
});

describe('as_of', () => {
  it('answers 404 before an entity’s creation and after its deletion, and resolves times to the microsecond', async () => {
    const created = await newCredential();
    const path = `/ssh_credentials/${created.body.id}`;
    const changed = await admin.patch(path, { description: 'changed' });
    const deleted = await admin.delete(path);
    expect((await get(path, positionOf(created) - 1)).status).toBe(404);
    expect((await get(path, positionOf(created))).body).toEqual(created.body);
    expect((await get(path, positionOf(changed))).body.description).toBe('changed');
    expect((await get(path, positionOf(deleted))).status).toBe(404);
    const [atCreation, atDeletion] = [await timeOf(created), await timeOf(deleted)];
    expect((await get(path, atCreation)).body).toEqual(created.body);
    expect((await get(path, microsecondBefore(atCreation))).status).toBe(404);
    expect((await get(path, atDeletion)).status).toBe(404);
    expect((await get(path, microsecondBefore(atDeletion))).body.description).toBe('changed');
  });

  const microsecondBefore = (time: string): string => {
    const micros = BigInt(Date.parse(time)) * 1000n + BigInt(time.slice(23, 26)) - 1n;
    return `${new Date(Number(micros / 1000n)).toISOString().slice(0, -1)}${String(micros % 1000n).padStart(3, '0')}Z`;
  };

  it('accepts offsets, even one whose plus sign became a blank in the URL', async () => {
    const { body } = await newCredential();
    const local = `${new Date((await now()).getTime() + 7_200_000).toISOString().slice(0, -1)}+02:00`;
    const answer = await admin.get(`/ssh_credentials/${body.id}?as_of=${local}`);
    expect([answer.status, answer.body]).toEqual([200, body]);
    const earlier = local.replace('+02:00', '+03:00');
    expect((await get(`/ssh_credentials/${body.id}`, earlier)).status).toBe(404);
  });

  it.each([
    [
      'a position beyond the log',
      '99999999',
      /^as_of '99999999' is in the future: the log ends at position \d+\. If the log gave you this position, its end is lost\.$/,
    ],
    ['a future time', '2999-01-01T00:00:00Z', /^as_of '2999-01-01T00:00:00Z' is in the future\.$/],
    ['a day that does not exist', '2026-02-30T00:00:00Z', /is not an RFC 3339 time/],
    ['a time without a zone', '2026-02-20T00:00:00', /is not a log position or an RFC 3339 time such as/],
    ['words', 'yesterday', /is not a log position/],
  ])('refuses %s with 400, on an entity, a list, a history and the feed', async (_, asOf, message) => {
    const { body } = await newCredential();
    for (const path of [
      `/ssh_credentials/${body.id}`,
      '/ssh_credentials',
      `/ssh_credentials/${body.id}/events`,
      '/events',
    ]) {
      const answer = await get(path, asOf);
      expect([answer.status, answer.body.error_code]).toEqual([400, 'ERR_TAS_400']);
      expect(answer.body.msg).toMatch(message);
    }
  });

  it('keeps its position on every page of a list', async () => {
    const account = await addAccount(service);
    const created = [];
    for (let n = 0; n < 7; n += 1) created.push(await newCredential(account.client));
    const last = created.at(-1) as Answer;
    for (const { body } of created.slice(2, 5)) await account.client.delete(`/ssh_credentials/${body.id}`);
    await newCredential(account.client);
    const ids = created.map(({ body }) => body.id).reverse();
    const time = (await now()).toISOString();
    expect(await account.client.pages(`/ssh_credentials?limit=2&as_of=${positionOf(last)}`, 'ssh_credentials')).toEqual(
      [ids.slice(0, 2), ids.slice(2, 4), ids.slice(4, 6), ids.slice(6)],
    );
    const { body } = await account.client.get(`/ssh_credentials?limit=2&as_of=${time}`);
    expect(body.next_page_uri).toMatch(/&as_of=\d+$/);
  });

  it('finds a page behind many entities that were already deleted', async () => {
    const account = await addAccount(service);
    const first = await newCredential(account.client);
    const deleted = await Promise.all(Array.from({ length: 230 }, () => newCredential(account.client)));
    await Promise.all(deleted.map(({ body }) => account.client.delete(`/ssh_credentials/${body.id}`)));
    const { body } = await account.client.get(`/ssh_credentials?as_of=${(await now()).toISOString()}`);
    expect(body.ssh_credentials).toEqual([first.body]);
  });

  it('returns the earlier state of an edge module', async () => {
    const { body: edge } = await admin.post('/edges/tcp', {});
    const set = await admin.put(`/edges/tcp/${edge.id}/backend`, { backend_id: 'bkdhr_1' });
    const removed = await admin.delete(`/edges/tcp/${edge.id}/backend`);
    expect((await get(`/edges/tcp/${edge.id}/backend`, positionOf(set))).body).toEqual(set.body);
    expect((await get(`/edges/tcp/${edge.id}/backend`, positionOf(removed))).status).toBe(404);
  });

  it('has the ETag of that version, which If-None-Match accepts', async () => {
    const created = await newCredential();
    await admin.patch(`/ssh_credentials/${created.body.id}`, { description: 'changed' });
    const path = `/ssh_credentials/${created.body.id}?as_of=${positionOf(created)}`;
    expect((await admin.get(path)).headers.get('etag')).toBe('"1"');
    expect((await admin.get(path, { 'if-none-match': '"1"' })).status).toBe(304);
  });

  it('shows a member only what the current state shows', async () => {
    const member = await addUser(service, 'member');
    const { body: others } = await admin.post('/api_keys', {});
    const asOf = (await now()).toISOString();
    const { body } = await member.client.get(`/api_keys?as_of=${asOf}`);
    expect(body.keys.map((key: { id: string }) => key.id)).toEqual([member.keyId]);
    expect((await member.client.get(`/api_keys/${others.id}?as_of=${asOf}`)).status).toBe(404);
    expect((await get(`/api_keys/${others.id}`, asOf)).status).toBe(200);
  });

  it('shows another account no entities, by position or by time', async () => {
    const created = await newCredential();
    const { client } = await addAccount(service);
    for (const asOf of [1, (await now()).toISOString()]) {
      expect((await client.get(`/ssh_credentials/${created.body.id}?as_of=${asOf}`)).status).toBe(404);
      expect((await client.get(`/ssh_credentials?as_of=${asOf}`)).body.ssh_credentials).toEqual([]);
    }
  });

  it('of a time occupies no connection while it waits, and locks the head once for all requests', async () => {
    const account = await addAccount(service);
    const locker = new pg.Client(service.databaseUrl);
    await locker.connect();
    await locker.query('begin');
    await locker.query('select 1 from log_heads where account_id = $1 for update', [account.accountId]);
    const asOf = (await now()).toISOString();
    const asking = Array.from({ length: 30 }, () => account.client.get(`/ssh_credentials?as_of=${asOf}`));
    await sleep(100);
    expect((await admin.get('/users')).status).toBe(200);
    await locker.query('rollback');
    await locker.end();
    expect((await Promise.all(asking)).map(({ status }) => status)).toEqual(Array(30).fill(200));
    const lockOf = async () =>
      (await service.pool.query('select xmax::text from log_heads where account_id = $1', [account.accountId])).rows[0]
        .xmax;
    const lock = await lockOf();
    for (let n = 0; n < 3; n += 1) expect((await account.client.get(`/users?as_of=${asOf}`)).status).toBe(200);
    expect(await lockOf()).toBe(lock);
  });

  it('of the current time answers under constant appends', async () => {
    const account = await addAccount(service);
    let isDone = false;
    const writers = Array.from({ length: 8 }, async () => {
      while (!isDone) await newCredential(account.client);
    });
    for (let n = 0; n < 10; n += 1) {
      const { status } = await account.client.get(`/ssh_credentials?limit=1&as_of=${(await now()).toISOString()}`);
      expect(status).toBe(200);
    }
    isDone = true;
    await Promise.all(writers);
  });

  it('of the current time waits for an append in progress, whose time is older than its commit', async () => {
    const account = await addAccount(service);
    const { body: model } = await newCredential(account.client);
    const { rows } = await service.pool.query('select data from events where stream_id = $1', [model.id]);
    const id = new IdSource().next('sshcr');
    const event = { type: 'ssh_credential_created.v1', data: JSON.parse(rows[0].data) };
    const { text, values } = appendStatement(account.accountId, [
      prepareAppend(appendOf(account.accountId, newEvent(id, 1, { event })), Number.POSITIVE_INFINITY),
    ]);
    const writer = new pg.Client(service.databaseUrl);
    await writer.connect();
    await writer.query('begin');
    await writer.query(text, [...values]);
    const asking = account.client.get(`/ssh_credentials?as_of=${(await now()).toISOString()}`);
    const early = await Promise.race([asking.then(() => 'answered'), sleep(200, 'waits')]);
    expect(early).toBe('waits');
    await writer.query('commit');
    await writer.end();
    const ids = (await asking).body.ssh_credentials.map((one: { id: string }) => one.id);
    expect(ids.sort()).toEqual([id, model.id].sort());
  });
});
