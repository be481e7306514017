import { once } from 'node:events';
import { constants, getPriority } from 'node:os';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { writeManyEvents } from '../../bench/many-events.mjs';
import { type RunningCli, runCli, startCli } from '../support/process.js';
import { cloneDatabase, type TestDatabase } from '../support/service.js';

const EVENTS = 20_000;

/** A database whose log has events and whose tables lack all of their rows. */
let database: TestDatabase;
let sql: pg.Client;
beforeAll(async () => {
  database = await cloneDatabase();
  sql = new pg.Client(database.url);
  await sql.connect();
  await writeManyEvents(sql, EVENTS);
});
afterAll(async () => {
  await sql.end();
  await database.drop();
});

const cli = (...args: string[]) => runCli({ DATABASE_URL: database.url }, 'projections', ...args);
const start = (): RunningCli => startCli({ DATABASE_URL: database.url }, 'projections', 'repair');

const rowsWritten = async (): Promise<number> =>
  (await sql.query('select count(*)::int as rows from ssh_credentials')).rows[0].rows;

async function untilMoreThan(rows: number): Promise<void> {
  while ((await rowsWritten()) <= rows) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('a repair that is stopped in the middle', () => {
  it('leaves what it has done, at low priority; by SIGINT it says so; the next one does the rest: the proof agrees', async () => {
    const { child } = start();
    await untilMoreThan(0);
    expect(getPriority(child.pid)).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
    child.kill('SIGKILL');
    await once(child, 'close');
    const left = await rowsWritten();

    const second = start();
    await untilMoreThan(left);
    second.child.kill('SIGINT');
    expect(await second.ended).toMatchObject({ code: 130, stderr: expect.stringMatching(/^interrupted; /) });

    const lacking = 13_000;
    expect(await rowsWritten()).toBeLessThan(lacking);
    expect(await cli('prove')).toMatchObject({ code: 1 });
    expect(await cli('repair')).toMatchObject({ code: 0 });
    expect(await rowsWritten()).toBe(lacking);
    expect(await cli('prove')).toMatchObject({ code: 0, stdout: '' });
  });
});
