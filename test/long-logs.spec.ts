import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { READ_MODELS } from '../src/api/read-models.js';
import { type Database, openDatabase } from '../src/database/database.js';
import { verify } from '../src/event-log/verify/verify.js';
import { faultsOf } from './support/found.js';
import { cloneDatabase, testConfig } from './support/service.js';

const ACCOUNT = 'ac_000000000000000000000000000';
const EVENTS = 20_000;

/** Texts with characters of two, three and four bytes, and with those that JSON escapes. */
const FILL = `insert into events select $1, n, stream, 1, id, type, data, metadata, at, at,
    event_leaf_hash($1, n, stream, 1, id, type, data, metadata, at, at)
  from (select n, 'bkdtg_' || lpad(n::text, 27, '0') as stream, gen_random_uuid() as id, 'tunnel_group_created.v1' as type,
    '{"description":' || to_json(repeat(e'ü€😀\\t"\\\\', n % 20)) || '}' as data, '{"actor":"system"}' as metadata,
    '2026-01-01'::timestamptz + n * interval '1 ms' as at from generate_series(1, $2::int) n) made`;

let copy: Awaited<ReturnType<typeof cloneDatabase>>;
let sql: pg.Client;
let database: Database;
beforeAll(async () => {
  copy = await cloneDatabase();
  sql = new pg.Client(copy.url);
  await sql.connect();
  await sql.query(FILL, [ACCOUNT, EVENTS]);
  await sql.query('insert into log_heads (account_id, size, recorded_at) values ($1, $2, now())', [ACCOUNT, EVENTS]);
  database = await openDatabase(testConfig(copy.url), () => undefined);
});
afterAll(async () => {
  await database.close();
  await sql.end();
  await copy.drop();
});

describe('a long log', () => {
  it('is in order, whatever characters it has', async () => {
    expect(await faultsOf(database)).toEqual([]);
  });

  it('has the faults that a short one has, in the order of positions', async () => {
    await sql.query(`set session_replication_role = replica; drop index events_actor;
      create temporary table kept as select * from events where position in (10000, 10001, 10003, 15000, 19999);
      update events set data = '{"description":"edited"}' where position = 10000;
      update events set metadata = metadata || e'\\x01' || data, data = '{"description":"other"}' where position = 10001;
      delete from events where position = 10003;
      update events set data = data || e'\\n\\t\\\\N' where position = 15000;
      update events set leaf_hash = event_leaf_hash(account_id, position, stream_id, stream_version, event_id, type, data,
        metadata, occurred_at, recorded_at) where position = 15000;
      update events set recorded_at = recorded_at - interval '1 h' where position = 19999`);
    const faults = await faultsOf(database);
    await sql.query(
      'delete from events where position in (select position from kept); insert into events select * from kept',
    );
    const notTheHash = 'its leaf_hash is not the hash of the event';
    expect(faults).toEqual([
      expect.stringMatching(/^the index events_actor on events is missing/),
      `position 10000: ${notTheHash}`,
      'position 10001: metadata is not a JSON object that names an actor',
      `position 10001: ${notTheHash}`,
      'position 10003: missing',
      'position 15000: data is not a JSON object as the service writes it',
      'position 19999: recorded_at is not later than that of the previous event',
      `position 19999: ${notTheHash}`,
    ]);
  });

  it('is left at once when the check is interrupted', async () => {
    const stop = new AbortController();
    const checked = verify({ ...database, interrupt: stop.signal }, READ_MODELS, {
      account: undefined,
      keysOf: () => [],
      begin: () => undefined,
      events: () => stop.abort(),
      fault: () => undefined,
    });
    await expect(checked).rejects.toThrow(/closed/);
  });
});
