import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { openDatabase } from '../src/database/database.js';
import { cloneDatabase } from './support/service.js';

let database: Awaited<ReturnType<typeof cloneDatabase>>;
let observer: pg.Client;
beforeAll(async () => {
  database = await cloneDatabase();
  observer = new pg.Client(database.url);
  await observer.connect();
});
afterAll(async () => {
  await observer.end();
  await database.drop();
});

/** The service's database with all connections of its pool open. */
async function openAll(databaseUrl: string) {
  const options = { databaseUrl, dataDir: '', databasePoolSize: 20, auditReadConnections: 1 };
  const opened = await openDatabase(options, () => undefined);
  await Promise.all(Array.from({ length: 20 }, () => opened.pool.query('select pg_sleep(0.05)')));
  return opened;
}

/** An autovacuum of the database is in the view too. */
async function connections(): Promise<number> {
  const { rows } = await observer.query(
    `select count(*)::int as n from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()`,
  );
  return rows[0].n;
}

it('a closed database has no connection left at its server', async () => {
  for (let round = 0; round < 5; round++) {
    const opened = await openAll(database.url);
    expect(await connections()).toBe(20);
    await opened.close();
    expect(await connections()).toBe(0);
  }
});

it('a closed database leaves no timer that would keep a command from ending', async () => {
  const timers = () => process.getActiveResourcesInfo().filter((resource) => resource === 'Timeout').length;
  const before = timers();
  await (await openAll(database.url)).close();
  expect(timers()).toBe(before);
});
