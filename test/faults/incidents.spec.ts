import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, it } from '@jest/globals';
import { takeLines } from '../support/error-lines.js';
import { startInstance } from '../support/instance.js';
import { PostgresServer } from '../support/postgres-server.js';

let postgres: PostgresServer;
beforeAll(async () => {
  postgres = await PostgresServer.primary();
  await postgres.query('create role tunnels login');
  await postgres.query('create database service owner tunnels');
});

const ACCEPTED = 'host all all 127.0.0.1/32 trust';
const REFUSED = 'host all tunnels 127.0.0.1/32 reject';
const END_SESSIONS = `select pg_terminate_backend(pid) from pg_stat_activity where usename = 'tunnels'`;
/** Longer than the time without a failure after which an incident may end. */
const QUIET_MS = 7_000;

it.each<[state: string, begin: () => Promise<void>, end: () => Promise<void>]>([
  ['is stopped', () => postgres.kill('SIGINT'), () => postgres.start()],
  ['is paused', () => postgres.pause(), () => postgres.resume()],
  [
    'refuses the role',
    async () => {
      await postgres.trust(REFUSED, ACCEPTED);
      await postgres.query(END_SESSIONS);
    },
    () => postgres.trust(ACCEPTED),
  ],
])('a database that %s is said to answer again only when it does', async (_, begin, end) => {
  const instance = await startInstance(`postgres://tunnels@${postgres.host}/service`);
  const log = takeLines();
  const said = () =>
    log
      .lines()
      .flatMap(({ level, fields, message }) => (fields.context === 'Incidents' ? [`${level} ${message}`] : []));
  await begin();
  // One request begins the incident. No later one tells that it goes on.
  expect((await instance.admin.get('/users')).status).toBe(503);
  const away = [expect.stringMatching(/^error the database does not answer: /)];
  expect(said()).toEqual(away);
  await sleep(QUIET_MS);
  expect(said()).toEqual(away);
  await end();
  while (said().length === 1) await sleep(50);
  expect((await instance.admin.get('/users')).status).toBe(200);
  expect(said()).toEqual([...away, expect.stringMatching(/^info the database answers again, after \d+ s$/)]);
  log.end();
  await instance.stop();
});
