import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { CLI, type RunningCli, runCli, spawnCli, startCli } from '../support/process.js';
import { cloneDatabase, type Service, startService } from '../support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const cli = (...args: string[]): RunningCli['ended'] => runCli({ DATABASE_URL: service.databaseUrl }, ...args);
const spawned = (...args: string[]): RunningCli['ended'] => spawnCli({ DATABASE_URL: service.databaseUrl }, ...args);

/** Waits until a connection to the database runs, or ran last, a statement like this. */
async function untilQueried(databaseUrl: string, pattern: string): Promise<void> {
  for (;;) {
    const { rows } = await service.pool.query(
      'select from pg_stat_activity where datname = $1 and query like $2 and pid <> pg_backend_pid()',
      [databaseUrl.split('/').at(-1), pattern],
    );
    if (rows.length > 0) return;
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

describe('exit code 0', () => {
  it('is success: a check that found everything in order', async () => {
    expect(await spawned('audit', 'verify')).toMatchObject({ code: 0, stdout: '' });
  });
});

describe('exit code 1', () => {
  it('is a check that found faults, which are on stdout', async () => {
    await service.pool.query(`update accounts set name = name || '!'`);
    const proof = await spawned('projections', 'prove');
    expect(proof).toMatchObject({ code: 1, stdout: expect.stringMatching(/^accounts\t.*\tname\t/) });
    await service.pool.query(`update accounts set name = rtrim(name, '!')`);
  });
});

describe('exit code 2', () => {
  const ID = 'sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';
  it.each([
    ['an unknown account', 'audit tail --account ac_typo', 'there is no account ac_typo'],
    ['an unknown account', 'audit export --account ac_typo', 'there is no account ac_typo; the accounts are ac_'],
    ['an unknown account', 'audit verify --account ac_typo', 'there is no account ac_typo: it has no log and no rows'],
    ['an unknown account', 'projections prove --account ac_typo', 'there is no account ac_typo: it has no log'],
    ['an unknown resource', `audit show ${ID}`, `there is no resource '${ID}' in the log of any account`],
    ['an unknown resource', `audit diff ${ID} --from 1`, `there is no resource '${ID}' in the log of any account`],
    ['an unknown owner', 'api-keys create --owner usr_typo', "there is no active user or bot 'usr_typo'"],
    [
      'an unknown table',
      'projections repair --name events',
      "there is no read model with a table 'events'; the tables",
    ],
    ['an unknown table', 'projections prove --name events', "there is no read model with a table 'events'; the tables"],
    ['an unknown file', 'audit import /typo.ndjson', 'the file cannot be read: ENOENT: no such file or directory'],
  ])('is %s: %s', async (_, command, message) => {
    const { code, stdout, stderr } = await cli(...command.split(' '));
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr.slice(0, message.length)).toBe(message);
  });
});

describe('exit code 3', () => {
  it.each(['accounts create Example', 'api-keys create', 'audit import -', 'audit tail', 'projections prove'])(
    'is a database that cannot be used: %s',
    async (command) => {
      expect(await runCli({ DATABASE_URL: `${service.databaseUrl}_typo` }, ...command.split(' '))).toEqual({
        code: 3,
        stdout: '',
        stderr: expect.stringMatching(
          /^the database cannot be used: database ".*_typo" does not exist; create [^\n]* DATABASE_URL\n$/,
        ),
      });
    },
  );

  it('is a database that goes away while the command runs', async () => {
    const target = await cloneDatabase();
    const following = startCli({ DATABASE_URL: target.url }, 'audit', 'tail', '-f');
    await untilQueried(target.url, '%from log_heads%');
    await target.drop();
    expect(await following.ended).toEqual({
      code: 3,
      stdout: '',
      stderr: expect.stringMatching(/^the database cannot be used: [^\n]+\n$/),
    });
  });

  it('is a broken export file', async () => {
    const broken = startCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'import', '-');
    broken.child.stdin?.end('{');
    expect(await broken.ended).toMatchObject({ code: 3, stdout: '', stderr: expect.stringMatching(/^line 1: .*\n$/) });
  });

  it('is a full disk under stdout', async () => {
    const env = { PATH: process.env.PATH, DATABASE_URL: service.databaseUrl };
    const child = spawn('sh', ['-c', `exec ${process.execPath} ${CLI} accounts list > /dev/full`], { env });
    const [stderr, [code]] = await Promise.all([text(child.stderr), once(child, 'close')]);
    expect([code, stderr]).toEqual([3, 'ENOSPC: no space left on device, write\n']);
  });
});

describe('exit code 130', () => {
  const INTERRUPTED = { code: 130, stdout: '', stderr: expect.stringMatching(/^interrupted; [^\n]*\n$/) };

  it('is an interruption by SIGINT while an import waits for stdin', async () => {
    const target = await cloneDatabase();
    const importing = startCli({ DATABASE_URL: target.url }, 'audit', 'import', '-');
    await untilQueried(target.url, '%migration%');
    importing.child.kill('SIGINT');
    expect(await importing.ended).toEqual(INTERRUPTED);
    await target.drop();
  });

  it('is an interruption by SIGTERM while a command waits for the database', async () => {
    const silent = createServer().listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = silent.address() as AddressInfo;
    const waiting = startCli({ DATABASE_URL: `postgres://nobody@127.0.0.1:${port}/none` }, 'audit', 'verify');
    const [connection] = await once(silent, 'connection');
    waiting.child.kill('SIGTERM');
    expect(await waiting.ended).toEqual(INTERRUPTED);
    connection.destroy();
    silent.close();
  });
});
