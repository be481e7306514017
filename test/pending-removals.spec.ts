import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { PendingRemovals } from '../src/access/accounts/pending-removals.js';
import { IdSource } from '../src/ids.js';
import type { EventLog } from '../src/log/append/event-log.js';
import type { OwnedEntities } from '../src/resources/owned-entities.js';
import { cloneDatabase } from './support/service.js';

/** Without an instance, whose sweeper would take the row. */
let database: Awaited<ReturnType<typeof cloneDatabase>>;
let pool: pg.Pool;
beforeAll(async () => {
  database = await cloneDatabase();
  pool = new pg.Pool({ connectionString: database.url });
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

const OWNER = { accountId: 'ac_busy', id: 'bot_busy' };

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
  expect(await removals.finish(OWNER)).toBe(3);
  expect(taken).toEqual([undefined, undefined, undefined]);
  expect(await removals.takeDue()).toBeUndefined();
});
