import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { newestEvents } from '../src/operator/audit/log-tail.js';
import { cloneDatabase } from './support/service.js';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let pool: pg.Pool;
beforeAll(async () => {
  database = await cloneDatabase();
  // The drop of the database may end a connection that is about to close.
  pool = new pg.Pool({ connectionString: database.url }).on('error', () => undefined);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});

/** The minutes at which the events of each account were recorded. */
const LOGS: Readonly<Record<string, readonly number[]>> = {
  ac_a: [1, 2, 20],
  ac_b: [18, 19],
  ac_c: [3, 17],
  ac_d: [15, 16],
};

const TIME = `timestamptz '2026-01-01T00:00:00Z' + minute * interval '1 minute'`;

describe('the newest events of all accounts', () => {
  beforeAll(async () => {
    for (const [account, minutes] of Object.entries(LOGS)) {
      await pool.query(
        `insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
         select $1, n, 'bot_' || n, 1, gen_random_uuid(), 'bot_created.v1', '{}', '{}', ${TIME}, ${TIME}, ''
         from unnest($2::int[]) with ordinality as made(minute, n)`,
        [account, minutes],
      );
      await pool.query(`insert into log_heads select $1, $2, ${TIME} from (select $3::int as minute) last`, [
        account,
        minutes.length,
        minutes.at(-1),
      ]);
    }
  });

  it.each([
    [0, []],
    [1, [20]],
    [2, [19, 20]],
    [3, [18, 19, 20]],
    [4, [17, 18, 19, 20]],
    [6, [15, 16, 17, 18, 19, 20]],
    [100, [1, 2, 3, 15, 16, 17, 18, 19, 20]],
  ])('are %s in the order of their times, whichever account has them', async (count, minutes) => {
    const { events } = await newestEvents(pool, count, undefined);
    expect(events.map(({ recordedAt }) => new Date(recordedAt).getUTCMinutes())).toEqual(minutes);
  });
});
