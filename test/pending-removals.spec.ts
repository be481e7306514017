import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { Logger } from '@nestjs/common';
import pg from 'pg';
import { PendingRemovals } from '../src/api/access/accounts/pending-removals.js';
import { API_KEYS } from '../src/api/access/api-keys/api-keys.resource.js';
import { EntityQueries } from '../src/api/resources/entity-queries.js';
import { OwnedEntities } from '../src/api/resources/owned-entities.js';
import { SSH_CREDENTIALS } from '../src/api/ssh-credentials/ssh-credentials.resource.js';
import { EventLog } from '../src/event-log/append/event-log.js';
import { IdSource } from '../src/kernel/ids.js';
import { upload } from './support/decisions.js';
import { eventually } from './support/eventually.js';
import { newPublicKey } from './support/keys.js';
import { addManyCredentials } from './support/many-credentials.js';
import { addBot } from './support/principals.js';
import { cloneDatabase, GATEWAY, type Service, startService } from './support/service.js';

/** Without an instance, whose sweeper would take the row. */
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let pool: pg.Pool;
beforeAll(async () => {
  database = await cloneDatabase();
  // The drop of the database may end a connection that is about to close.
  pool = new pg.Pool({ connectionString: database.url }).on('error', () => undefined);
  await pool.query(
    `insert into events select $1, 0, $2, 1, gen_random_uuid(), 'bot_user_deleted.v1', '{}', '{"actor":"system"}', now(), now(), ''`,
    [OWNER.accountId, OWNER.id],
  );
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const OWNER = { accountId: 'ac_busy', id: 'bot_busy' };
const NO_END = new AbortController().signal;

it('a removal that takes longer than five seconds is taken by no other instance meanwhile', async () => {
  await pool.query('insert into pending_removals (account_id, owner_id) values ($1, $2)', [OWNER.accountId, OWNER.id]);
  const taken: unknown[] = [];
  const append = async () => {
    taken.push(await removals.takeDue());
    // As if the append had taken that long.
    await pool.query('update pending_removals set due_at = clock_timestamp()');
  };
  const parts = [1, 2, 3];
  const owned = { removalsOf: async () => (parts.pop() === undefined ? [] : [{}]) };
  const removals = new PendingRemovals(
    pool,
    { append } as unknown as EventLog,
    owned as unknown as OwnedEntities,
    new IdSource(),
  );
  expect(await removals.finish(OWNER, NO_END)).toBe(3);
  expect(taken).toEqual([undefined, undefined, undefined]);
  expect(await removals.takeDue()).toBeUndefined();
});

it('a removal that ends before its end is due at once, after those that were due before', async () => {
  await pool.query(
    `insert into pending_removals values ($1, $2, now()), ('ac_busy', 'bot_other', now() + interval '1 millisecond')`,
    [OWNER.accountId, OWNER.id],
  );
  const ending = new AbortController();
  const append = async () => ending.abort();
  const removals = new PendingRemovals(
    pool,
    { append } as unknown as EventLog,
    { removalsOf: async () => [{}] } as unknown as OwnedEntities,
    new IdSource(),
  );
  expect(await removals.takeDue()).toEqual(OWNER);
  expect(await removals.finish(OWNER, ending.signal)).toBe(1);
  expect(await removals.takeDue()).toMatchObject({ id: 'bot_other' });
  expect(await removals.takeDue()).toEqual(OWNER);
  await pool.query('delete from pending_removals');
});

it('a removal reads each entity twice at most, also while a backup holds on to the removed ones', async () => {
  await pool.query('insert into log_heads (account_id, size, recorded_at) values ($1, 0, now())', [OWNER.accountId]);
  await addManyCredentials(pool, OWNER, 2_000);
  const backup = await pool.connect();
  await backup.query('begin isolation level repeatable read; select from ssh_credentials limit 1');
  const connections = new pg.Pool({ connectionString: database.url, max: 1 });
  const owned = new OwnedEntities(new EntityQueries(connections), [API_KEYS, SSH_CREDENTIALS]);
  const log = new EventLog(connections, () => undefined);
  expect(await new PendingRemovals(connections, log, owned, new IdSource()).finish(OWNER, NO_END)).toBe(2_000);
  await backup.query('commit');
  backup.release();
  // The connection reports what it read when it ends.
  await connections.end();
  const readEntries = async (): Promise<number> =>
    (await pool.query("select sum(idx_tup_read)::int as n from pg_stat_user_indexes where relname = 'ssh_credentials'"))
      .rows[0].n;
  await eventually(async () => expect(await readEntries()).toBeGreaterThan(0));
  // To look it up, and to delete it.
  expect(await readEntries()).toBeLessThanOrEqual(4_000);
});

it('a deletion is answered before everything is removed; the rest is refused at once, and is removed by an instance', async () => {
  const service = await startService(GATEWAY);
  const bot = await addBot(service);
  await addManyCredentials(service.pool, bot, 500);
  const { fingerprint } = await upload(service, bot.client, { public_key: newPublicKey(), acl: [] });
  const ask = async () =>
    (await service.gateway.post('/ssh_gateway/authorize', { fingerprint, target: { domain: 'a.example' } })).body;
  const count = async (from: string): Promise<number> =>
    (await service.pool.query(`select count(*)::int as n from ${from}`)).rows[0].n;
  expect(await ask()).toMatchObject({ allowed: true });

  // As if the first append had taken all the time that a request has, and as if each turn of the sweeper was over.
  const timeout = jest.spyOn(AbortSignal, 'timeout').mockReturnValue(AbortSignal.abort());
  expect((await service.admin.delete(`/bot_users/${bot.id}`)).status).toBe(204);
  expect(timeout).toHaveBeenCalledWith(3_000);
  // That append removed the bot's key and 199 of its 501 credentials.
  expect(await count('ssh_credentials')).toBe(302);
  expect(await ask()).toMatchObject({ allowed: false });
  expect((await bot.client.get('/ssh_credentials')).status).toBe(401);

  await eventually(async () => expect(timeout).toHaveBeenCalledWith(10_000));
  expect(await count('ssh_credentials')).toBe(302);
  timeout.mockRestore();
  await eventually(async () => expect(await count('pending_removals')).toBe(0), 20_000);
  expect(await count('ssh_credentials')).toBe(0);
  expect(await count(`events where type = 'ssh_credential_deleted.v1'`)).toBe(501);
  await service.stop();
});

it.each<[owner: string, idOf: (service: Service) => Promise<string>]>([
  ['a living bot', async (service) => (await addBot(service)).id],
  ['an owner whom the service does not know', async () => 'usr_000000000000000000000000000'],
])('a row of %s removes nothing, and is an alarm once', async (_, idOf) => {
  const service = await startService();
  const id = await idOf(service);
  const accountId = (await service.pool.query('select account_id from accounts')).rows[0].account_id;
  await addManyCredentials(service.pool, { accountId, id }, 2);
  const logged = jest.spyOn(Logger.prototype, 'error').mockReturnValue(undefined);
  await service.pool.query('insert into pending_removals values ($1, $2, now())', [accountId, id]);
  const due = async () => (await service.pool.query('select from pending_removals where due_at <= now()')).rowCount;
  for (let turn = 0; turn < 2; turn += 1) {
    await service.pool.query('update pending_removals set due_at = now()');
    await eventually(async () => expect(await due()).toBe(0));
  }
  expect(logged.mock.calls.map(([line]) => line)).toEqual([
    expect.stringMatching(
      `^ALARM: pending_removals has a row of ${id} of ${accountId}, which is not deleted by the log`,
    ),
  ]);
  logged.mockRestore();
  expect(await service.pool.query('select from ssh_credentials')).toMatchObject({ rowCount: 2 });
  await service.stop();
});
