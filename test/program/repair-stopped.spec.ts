import { once } from 'node:events';
import { constants, getPriority } from 'node:os';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { writeManyEvents } from '../../bench/many-events.mjs';
import { type RunningCli, runCli, startCli } from '../support/process.js';
import { cloneDatabase, type TestDatabase } from '../support/service.js';

const EVENTS = 20_000;

/** A database whose log has events and whose tables lack all of their rows. */
let database: TestDatabase & { drop(): Promise<void> };
let sql: pg.Client;
beforeEach(async () => {
  await end();
  database = await cloneDatabase();
  sql = new pg.Client(database.url);
  await sql.connect();
  await writeManyEvents(sql, EVENTS);
});
afterAll(() => end());

async function end(): Promise<void> {
  await sql?.end();
  await database?.drop();
}

const cli = (...args: string[]) => runCli({ DATABASE_URL: database.url }, 'projections', ...args);
const start = (): RunningCli => startCli({ DATABASE_URL: database.url }, 'projections', 'repair');

const rowsWritten = async (): Promise<number> =>
  (await sql.query('select count(*)::int as rows from ssh_credentials')).rows[0].rows;

async function untilWriting(): Promise<void> {
  while ((await rowsWritten()) === 0) await new Promise((resolve) => setTimeout(resolve, 5));
}

async function expectEndOfWork(): Promise<void> {
  const lacking = 13_000;
  expect(await rowsWritten()).toBeLessThan(lacking);
  expect(await cli('prove')).toMatchObject({ code: 1 });
  expect(await cli('repair')).toMatchObject({ code: 0 });
  expect(await rowsWritten()).toBe(lacking);
  expect(await cli('prove')).toMatchObject({ code: 0, stdout: '' });
}

describe('a repair that is stopped in the middle', () => {
  it('by SIGKILL, at low priority, leaves what it has done, and the next one does the rest: the proof agrees', async () => {
    const { child } = start();
    await untilWriting();
    expect(getPriority(child.pid)).toBe(constants.priority.PRIORITY_BELOW_NORMAL);
    child.kill('SIGKILL');
    await once(child, 'close');
    await expectEndOfWork();
  });

  it('by SIGINT says so, and the next one does the rest: the proof agrees', async () => {
    const { child, ended } = start();
    await untilWriting();
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130, stderr: expect.stringMatching(/^interrupted; /) });
    await expectEndOfWork();
  });
});
