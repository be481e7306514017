import { readFileSync } from 'node:fs';
import { beforeAll, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { ApiClient } from '../support/api-client.js';
import { newPublicKey } from '../support/keys.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli, startMain, stopMain } from '../support/process.js';

jest.setTimeout(120_000);

/** Answers of the earlier version, and the secrets that it gave out. */
interface Before {
  readonly adminKey: string;
  readonly userKey: string;
  readonly revokedKey: string;
  readonly gatewayToken: string;
  readonly answers: Readonly<Record<string, object>>;
  readonly questions: readonly (readonly [question: object, answer: object])[];
}

const read = (file: string): string => readFileSync(new URL(`upgrade/${file}`, import.meta.url), 'utf8');
const BEFORE = JSON.parse(read('0012.json')) as Before;

let postgres: PostgresServer;

beforeAll(async () => {
  postgres = await PostgresServer.primary();
  await postgres.query('create role service login');
});

/** A database of its own, as the earlier version has left it. Only its owner may change tables. */
async function restored(name: string): Promise<string> {
  await postgres.query(`create database ${name}`);
  const client = new pg.Client(postgres.url(name));
  await client.connect();
  await client.query(read('0012.sql'));
  await client.end();
  return postgres.url(name);
}

it.each([
  ['the owner of the tables', 'as_owner', (url: string) => ({ DATABASE_URL: url })],
  [
    'a role that only uses the tables',
    'as_service',
    (url: string) => ({ DATABASE_URL: url.replace('postgres@', 'service@'), MIGRATION_DATABASE_URL: url }),
  ],
])(
  'after an upgrade by %s everything is as the earlier version had answered it, and changes go on',
  async (_, name, urls) => {
    const database = { ...urls(await restored(name)) };
    const settings = { ...database, PUBLIC_URL: 'https://tunnels.example.com', GATEWAY_TOKENS: BEFORE.gatewayToken };
    expect(await runCli(database, 'migrate', '--check')).toMatchObject({ code: 1 });
    const main = startMain({ ...settings, DECISIONS_RETENTION_DAYS: '36500' });
    const admin = new ApiClient(await main.url, BEFORE.adminKey);
    for (const [path, body] of Object.entries(BEFORE.answers)) expect((await admin.get(path)).body).toEqual(body);
    const gateway = new ApiClient(await main.url, BEFORE.gatewayToken);
    for (const [question, answer] of BEFORE.questions) {
      expect((await gateway.post('/ssh_gateway/authorize', question)).body).toEqual(answer);
    }
    const user = new ApiClient(await main.url, BEFORE.userKey);
    expect((await user.post('/ssh_credentials', { public_key: newPublicKey() })).status).toBe(201);
    expect((await new ApiClient(await main.url, BEFORE.revokedKey).get('/ssh_credentials')).status).toBe(401);
    expect(await stopMain(main)).toMatchObject({ code: 0 });
    expect(await runCli(database, 'migrate', '--check')).toMatchObject({ code: 0 });
    expect(await runCli(database, 'audit', 'verify')).toMatchObject({ code: 0 });
    expect(await runCli(database, 'projections', 'prove')).toMatchObject({ code: 0 });
  },
);
