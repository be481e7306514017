import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it, jest } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { dumpOfBefore, EARLIER } from '../support/earlier-version.js';
import { newPublicKey } from '../support/keys.js';
import { PostgresServer } from '../support/postgres-server.js';
import { runCli, startMain, stopMain } from '../support/process.js';

jest.setTimeout(120_000);

let postgres: PostgresServer;
let folder: string;
let file: string;

beforeAll(async () => {
  postgres = await PostgresServer.primary();
  await postgres.query('create role service login');
  await postgres.query('create database before');
  await postgres.query(dumpOfBefore(), 'before');
  folder = await mkdtemp(join(tmpdir(), 'tas-upgrade-'));
  file = join(folder, 'before.ndjson');
  const { code, stdout } = await runCli({ DATABASE_URL: postgres.url('before') }, 'audit', 'export', '--all');
  expect(code).toBe(0);
  await writeFile(file, stdout);
});
afterAll(() => rm(folder, { recursive: true, force: true }));

it.each([
  ['the owner of the tables', 'as_owner', (url: string) => ({ DATABASE_URL: url })],
  [
    'a role that only uses the tables',
    'as_service',
    (url: string) => ({ DATABASE_URL: url.replace('postgres@', 'service@'), MIGRATION_DATABASE_URL: url }),
  ],
])(
  'after its import by %s everything is as the earlier version had answered it, and changes go on',
  async (_, name, urls) => {
    await postgres.query(`create database ${name}`);
    const database = { ...urls(postgres.url(name)) };
    const settings = { ...database, PUBLIC_URL: 'https://tunnels.example.com', GATEWAY_TOKENS: EARLIER.gatewayToken };
    expect(await runCli(database, 'audit', 'import', file)).toMatchObject({ code: 0 });
    const main = startMain({ ...settings, DECISIONS_RETENTION_DAYS: '36500' });
    const admin = new ApiClient(await main.url, EARLIER.adminKey);
    for (const [path, body] of Object.entries(EARLIER.answers)) {
      expect((await admin.get(path)).body).toEqual(body);
    }
    const gateway = new ApiClient(await main.url, EARLIER.gatewayToken);
    for (const [question, answer] of EARLIER.questions) {
      expect((await gateway.post('/ssh_gateway/authorize', question)).body).toEqual(answer);
    }
    const user = new ApiClient(await main.url, EARLIER.userKey);
    expect((await user.post('/ssh_credentials', { public_key: newPublicKey() })).status).toBe(201);
    expect((await new ApiClient(await main.url, EARLIER.revokedKey).get('/ssh_credentials')).status).toBe(401);
    expect(await stopMain(main)).toMatchObject({ code: 0 });
    expect(await runCli(database, 'migrate', '--check')).toMatchObject({ code: 0 });
    expect(await runCli(database, 'audit', 'verify')).toMatchObject({ code: 0 });
    expect(await runCli(database, 'projections', 'prove')).toMatchObject({ code: 0 });
  },
);
