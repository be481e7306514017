import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { findRunningPostgres } from '../src/database/embedded/embedded-postgres.js';
import { ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { type RunningMain, startMain, stopMain } from './support/process.js';

const KEY = 'a-key-of-my-own-choice';

let dataDir: string;
/** The instance that recovered from one crash meets the next. */
let main: RunningMain;

async function start(): Promise<string> {
  main = startMain({ DATA_DIR: dataDir, BOOTSTRAP_API_KEY: KEY });
  return main.url;
}

beforeAll(async () => {
  dataDir = await mkdtemp(join(tmpdir(), 'tas-crash-'));
  // As root the embedded server runs as another user, which must be able to enter the folder.
  await chmod(dataDir, 0o711);
  await start();
});
afterAll(async () => {
  await stopMain(main);
  // Processes of the killed server may still be ending.
  await rm(dataDir, { recursive: true, force: true, maxRetries: 10 });
});

const serverPid = async (): Promise<number> =>
  Number((await readFile(join(dataDir, 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);

/** Ids of the credentials that 16 writers were told to exist, until the service is gone. */
function writeUntilGone(url: string): { acknowledged: readonly string[]; gone: Promise<unknown> } {
  const client = new ApiClient(url, KEY);
  const acknowledged: string[] = [];
  const writer = async (): Promise<void> => {
    for (;;) {
      const { status, body } = await client.post('/ssh_credentials', { public_key: newPublicKey() });
      if (status === 201) acknowledged.push(body.id);
    }
  };
  return { acknowledged, gone: Promise.allSettled(Array.from({ length: 16 }, writer)) };
}

it.each([
  ['the service', (_server: number) => main.child.kill('SIGKILL')],
  ['the database', (server: number) => process.kill(server, 'SIGKILL')],
])(
  'recovers what a SIGKILL of %s under load left: every acknowledged change, and no gap in the log',
  async (_, kill) => {
    const { acknowledged, gone } = writeUntilGone(await main.url);
    while (acknowledged.length < 80) await sleep(5);
    kill(await serverPid());
    await main.ended;
    await gone;

    await start();
    expect(main.output()).not.toMatch(/lock file/);
    const { host, port, user } = (await findRunningPostgres(dataDir)) ?? {};
    const sql = new pg.Client({ host, port, user, database: 'postgres' });
    await sql.connect();
    const { rows } = await sql.query(
      `select count(*)::int as events, max(position)::int as newest, (select size::int from log_heads) as head,
       (select count(*)::int from ssh_credentials where id = any($1)) as kept from events`,
      [acknowledged],
    );
    await sql.end();
    const [{ events, newest, head, kept }] = rows;
    expect([newest, head, kept]).toEqual([events, events, acknowledged.length]);
  },
);
