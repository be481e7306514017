import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import pg from 'pg';
import { findRunningPostgres } from '../src/database/embedded/embedded-postgres.js';
import { ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import type { RunningMain } from './support/process.js';
import { dataDir, start, useStarts } from './support/starts.js';

useStarts();

const serverPid = async (): Promise<number> =>
  Number((await readFile(join(dataDir(), 'postgres', 'postmaster.pid'), 'utf8')).split('\n')[0]);

it.each([
  ['the service', (main: RunningMain, _server: number) => main.child.kill('SIGKILL')],
  ['the database', (_main: RunningMain, server: number) => process.kill(server, 'SIGKILL')],
])(
  'recovers what a SIGKILL of %s under load left: every acknowledged change, and no gap in the log',
  async (_, kill) => {
    const settings = { BOOTSTRAP_API_KEY: 'a-key-of-my-own-choice' };
    const first = start(settings);
    const url = await first.url;
    const client = new ApiClient(url, 'a-key-of-my-own-choice');
    const acknowledged: string[] = [];
    const writer = async (): Promise<void> => {
      for (;;) {
        const { status, body } = await client.post('/ssh_credentials', { public_key: newPublicKey() });
        if (status === 201) acknowledged.push(body.id);
      }
    };
    const writers = Array.from({ length: 16 }, () => writer().catch(() => undefined));
    while (acknowledged.length < 200) await sleep(5);
    kill(first, await serverPid());
    await first.ended;
    await Promise.all(writers);

    const second = start(settings);
    await second.url;
    expect(second.output()).not.toMatch(/lock file/);
    const { host, port, user } = (await findRunningPostgres(dataDir())) ?? {};
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
