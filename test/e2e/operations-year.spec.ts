import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { dumpOfBefore, EARLIER } from '../support/earlier-version.js';
import { environmentIn, installedPackage } from '../support/installed-package.js';
import { newPublicKey } from '../support/keys.js';
import { stopAtEnd } from '../support/leftovers.js';
import { PostgresServer } from '../support/postgres-server.js';

jest.setTimeout(600_000);

let postgres: PostgresServer;
let standby: PostgresServer;
/** An empty folder of an operator. */
let folder: string;

beforeAll(async () => {
  folder = await installedPackage();
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  postgres = await PostgresServer.primary();
  standby = await postgres.addStandby('standby');
  await postgres.query('create role service login');
  await postgres.query('create role reader login');
});

const environment = (settings: Record<string, string>): NodeJS.ProcessEnv => ({
  ...environmentIn(folder),
  ...settings,
});

const program = (): string => join(folder, 'node_modules/.bin/tunnel-access');

async function command(settings: Record<string, string>, ...args: string[]): Promise<number> {
  const child = spawn(program(), args, { cwd: folder, env: environment(settings), stdio: 'ignore' });
  const [code] = await once(child, 'exit');
  return code;
}

async function exportAll(settings: Record<string, string>, file: string): Promise<number> {
  const output = await open(join(folder, file), 'w');
  const stdio = ['ignore', output.fd, 'ignore'] as const;
  const child = spawn(program(), ['audit', 'export', '--all'], {
    cwd: folder,
    env: environment(settings),
    stdio: [...stdio],
  });
  const [code] = await once(child, 'exit');
  await output.close();
  return code;
}

interface Instance {
  readonly child: ChildProcess;
  readonly admin: ApiClient;
}

async function start(settings: Record<string, string>): Promise<Instance> {
  const env = environment({
    PORT: '0',
    PUBLIC_URL: 'https://tunnels.example.com',
    DECISIONS_RETENTION_DAYS: '0',
    ...settings,
  });
  const child = spawn(program(), ['start'], { cwd: folder, env, stdio: ['ignore', 'pipe', 'inherit'] });
  stopAtEnd(async () => void child.kill('SIGKILL'));
  let output = '';
  for await (const data of child.stdout) {
    output += data;
    const [, url] = /ready at (http:\/\/[\d.:]+)/.exec(output) ?? [];
    if (url === undefined) continue;
    child.stdout.destroy();
    return { child, admin: new ApiClient(url, EARLIER.adminKey) };
  }
  throw new Error(`it ended before it was ready: ${output}`);
}

async function end({ child }: Instance, signal: NodeJS.Signals): Promise<number | null> {
  const ended = once(child, 'exit');
  child.kill(signal);
  return (await ended)[0];
}

const as = (role: string, url: string): Record<string, string> => ({
  DATABASE_URL: url.replace('postgres@', `${role}@`),
});

async function answersOf({ admin }: Instance): Promise<Record<string, unknown>> {
  const answers = Object.keys(EARLIER.answers).map(async (path) => [path, (await admin.get(path)).body]);
  return Object.fromEntries(await Promise.all(answers));
}

it('the installed package upgrades, serves, is killed, backed up and restored, and its log is verified by those who only read', async () => {
  await postgres.query('create database year');
  const url = postgres.url('year');
  const asBoth = { ...as('service', url), MIGRATION_DATABASE_URL: url };
  expect(await command(as('service', url), 'migrate', '--check')).toBe(1);
  expect(await command(as('service', url), 'migrate')).toBe(3);
  expect(await command(asBoth, 'migrate')).toBe(0);
  await postgres.query('create database before');
  await postgres.query(dumpOfBefore(), 'before');
  expect(await command({ DATABASE_URL: postgres.url('before') }, 'migrate')).toBe(3);
  expect(await exportAll({ DATABASE_URL: postgres.url('before') }, 'before.ndjson')).toBe(0);
  expect(await command(asBoth, 'audit', 'import', 'before.ndjson')).toBe(0);

  const first = await start(as('service', url));
  expect(await answersOf(first)).toEqual(EARLIER.answers);
  const created = await first.admin.post('/ssh_credentials', {
    public_key: newPublicKey(),
    description: 'of this year',
  });
  expect(created.status).toBe(201);
  await end(first, 'SIGKILL');

  const second = await start(as('service', url));
  expect((await second.admin.get(`/ssh_credentials/${created.body.id}`)).body).toEqual(created.body);
  expect(await exportAll(as('service', url), 'year.ndjson')).toBe(0);
  const before = await answersOf(second);
  expect(await end(second, 'SIGTERM')).toBe(0);

  await postgres.query('create database restored');
  const restored = postgres.url('restored');
  const both = { ...as('service', restored), MIGRATION_DATABASE_URL: restored };
  expect(await command(both, 'audit', 'import', 'year.ndjson')).toBe(0);
  const third = await start(as('service', restored));
  expect(await answersOf(third)).toEqual(before);
  expect(await end(third, 'SIGTERM')).toBe(0);

  await postgres.query('grant select on all tables in schema public to reader', 'restored');
  await caughtUp();
  for (const reader of [as('reader', restored), { DATABASE_URL: standby.url('restored') }]) {
    expect(await command(reader, 'audit', 'verify')).toBe(0);
    expect(await command(reader, 'projections', 'prove')).toBe(0);
    expect(await command(reader, 'api-keys', 'create')).toBe(3);
  }
});

async function caughtUp(): Promise<void> {
  const [{ lsn }] = await postgres.query('select pg_current_wal_lsn() as lsn');
  const isBehind = `select 1 where pg_last_wal_replay_lsn() < '${lsn}'`;
  while ((await standby.query(isBehind)).length > 0);
}
