import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { KeyHistory, newCheckpointKey } from '../src/event-log/transparency/seal/checkpoint-key.js';
import { Checkpoints } from '../src/event-log/transparency/seal/checkpoints.js';
import { type Alarm, LogAlarms, markOf } from '../src/event-log/transparency/seal/log-alarms.js';
import { seal } from '../src/event-log/transparency/seal/seal.js';
import { SealedLogs } from '../src/event-log/transparency/seal/sealed-logs.js';
import { cloneDatabase, type TestDatabase } from './support/service.js';
import { END_ALARMS } from './support/tampering.js';

const KEYS = new KeyHistory(newCheckpointKey('tunnels.example.com'));
const ACCOUNT = 'ac_000000000000000000000000000';
const FOUND: Alarm = { accountId: ACCOUNT, loss: 'tail', signed: 7, mark: '', what: 'its tail is lost' };

let database: TestDatabase;
let pool: pg.Pool;
let alarms: LogAlarms;
beforeAll(async () => {
  database = await cloneDatabase();
  pool = new pg.Pool({ connectionString: database.url, max: 8 });
  // A connection may outlive the end of the pool, until its database is dropped.
  pool.on('error', () => undefined);
  alarms = new LogAlarms(pool);
});
afterAll(async () => {
  await pool.end();
  await database.drop();
});
beforeEach(async () => {
  await pool.query('alter table log_alarms disable trigger user; delete from log_alarms');
  await pool.query('alter table log_alarms enable trigger user');
});

const openRows = async (): Promise<number> =>
  (await pool.query('select count(*)::int as open from log_alarms where ended_at is null')).rows[0].open;

/** What an instance knows of alarms, and the lines that it has said. */
function instance() {
  const said: string[] = [];
  return { checkpoints: new Checkpoints(KEYS, alarms, (line) => said.push(line)), said };
}

describe('an alarm', () => {
  it('that several instances find at once is one row and one line', async () => {
    const instances = Array.from({ length: 6 }, instance);
    await Promise.all(instances.map(({ checkpoints }) => checkpoints.raise(FOUND)));
    await Promise.all(instances.map(({ checkpoints }) => checkpoints.refresh()));
    expect(await openRows()).toBe(1);
    expect(instances.flatMap(({ said }) => said)).toEqual([expect.stringMatching(/^ALARM: its tail is lost\. /)]);
    for (const { checkpoints } of instances)
      expect([checkpoints.lostLogs, checkpoints.hasAlarm(ACCOUNT)]).toEqual([1, true]);
  });

  it('that has ended is raised again as a new one, unless it has a mark: then that finding is accepted', async () => {
    const root = { ...FOUND, mark: markOf(Buffer.from('root')) };
    const { checkpoints, said } = instance();
    for (const one of [FOUND, root]) await checkpoints.raise(one);
    expect([await openRows(), said.length]).toEqual([2, 2]);
    await pool.query(END_ALARMS);
    await checkpoints.refresh();
    expect(checkpoints.state).toBe('on');
    await checkpoints.raise(root);
    await checkpoints.raise({ ...root, loss: 'events', signed: 9 });
    await checkpoints.refresh();
    expect([await openRows(), said.length, checkpoints.state]).toEqual([0, 2, 'on']);
    await checkpoints.raise(FOUND);
    expect([await openRows(), said.length, checkpoints.lostLogs]).toEqual([1, 3, 1]);
  });

  it('is said although the table cannot take it, lasts at the instance, and is a row once it can', async () => {
    const { checkpoints, said } = instance();
    await pool.query('alter table log_alarms rename to log_alarms_away');
    for (let n = 0; n < 2; n += 1) await checkpoints.raise(FOUND);
    await expect(checkpoints.refresh()).rejects.toThrow('log_alarms');
    expect([said.length, checkpoints.lostLogs, checkpoints.hasAlarm(ACCOUNT)]).toEqual([1, 1, true]);
    await pool.query('alter table log_alarms_away rename to log_alarms');
    await checkpoints.refresh();
    expect([said.length, checkpoints.lostLogs, await openRows()]).toEqual([1, 1, 1]);
  });

  it('whose row a restore or a failover has lost is raised again by an instance that finds it', async () => {
    const { checkpoints, said } = instance();
    await checkpoints.raise(FOUND);
    await checkpoints.raise(FOUND);
    expect(said).toHaveLength(1);
    await pool.query('alter table log_alarms disable trigger user; delete from log_alarms');
    await checkpoints.refresh();
    await checkpoints.raise(FOUND);
    expect([await openRows(), said.length]).toEqual([1, 2]);
  });

  it('lets an instance forget what it has seen signed once it is ended, also if the instance never saw it open', async () => {
    const [here, elsewhere] = [instance(), instance()];
    await elsewhere.checkpoints.refresh();
    for (const { checkpoints } of [here, elsewhere]) checkpoints.remember(ACCOUNT, 7);
    await here.checkpoints.raise(FOUND);
    await here.checkpoints.refresh();
    expect(here.checkpoints.rememberedSize(ACCOUNT)).toBe(7);
    await pool.query(END_ALARMS);
    for (const { checkpoints } of [here, elsewhere]) {
      await checkpoints.refresh();
      expect(checkpoints.rememberedSize(ACCOUNT)).toBe(0);
      checkpoints.remember(ACCOUNT, 3);
      await checkpoints.refresh();
      expect(checkpoints.rememberedSize(ACCOUNT)).toBe(3);
    }
  });

  it('keeps every instance from signing the log, whatever that instance knows', async () => {
    await pool.query(
      `insert into events select $1, 1, 'bkdtg_1', 1, gen_random_uuid(), 'tunnel_group_created.v1', '{}', '{"actor":"system"}', now(), now(), sha256('x')`,
      [ACCOUNT],
    );
    const logs = new SealedLogs(pool);
    await alarms.raise(FOUND);
    expect(await seal(logs, KEYS, { accountId: ACCOUNT, size: 1, sealed: 0 })).toBe(0);
    expect(await logs.lastCheckpoint(ACCOUNT)).toBeUndefined();
    await pool.query(END_ALARMS);
    expect(await seal(logs, KEYS, { accountId: ACCOUNT, size: 1, sealed: 0 })).toBe(1);
  });
});

describe('the keys of a deployment', () => {
  const [old, changed] = [newCheckpointKey('old.example.com'), newCheckpointKey('new.example.com')];
  const account = 'ac_111111111111111111111111111';
  const [before, after] = [new KeyHistory(old), new KeyHistory(changed, [old])];
  const logs = (): SealedLogs => new SealedLogs(pool);

  beforeAll(async () => {
    await pool.query(
      `insert into events select $1, n, 'bkdtg_' || n, 1, gen_random_uuid(), 'tunnel_group_created.v1', '{}', '{"actor":"system"}', now(), now(), sha256('x')
       from generate_series(1, 9) n`,
      [account],
    );
    await seal(logs(), before, { accountId: account, size: 3, sealed: 0 });
  });

  it('sign onto a checkpoint of an earlier one, under the new name', async () => {
    expect(await seal(logs(), after, { accountId: account, size: 6, sealed: 3 })).toBe(6);
    expect((await logs().lastCheckpoint(account))?.note).toMatch(/^new\.example\.com\/ac_1+\n6\n/);
  });

  it('sign nothing onto a checkpoint of a key that is not among them, nor onto a wrong signature', async () => {
    const onto = (keys: KeyHistory) => seal(logs(), keys, { accountId: account, size: 9, sealed: 6 });
    await expect(onto(before)).rejects.toThrow(
      /^the newest checkpoints are signed by the key new\.example\.com, which this instance does not know/,
    );
    await expect(onto(new KeyHistory(newCheckpointKey('new.example.com')))).rejects.toThrow(
      'its checkpoint of 6 events has a wrong signature',
    );
    expect((await logs().lastCheckpoint(account))?.size).toBe(6);
  });
});
