import { once } from 'node:events';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freePort } from '../support/free-port.js';
import { runCli, startCli } from '../support/process.js';
import { cloneDatabase } from '../support/service.js';

let target: Awaited<ReturnType<typeof cloneDatabase>>;
/** With a password, which the server does not ask for. */
let url: URL;
beforeAll(async () => {
  target = await cloneDatabase();
  url = new URL(target.url);
  url.password = 's3cret';
});
afterAll(() => target.drop());

describe('a command that cannot be undone on the wrong database', () => {
  it('names its target before it begins, without a password: migrate', async () => {
    const { stdout, stderr } = await runCli({ DATABASE_URL: url.href }, 'migrate');
    const [first] = stderr.split('\n');
    const socket = decodeURIComponent(url.hostname);
    expect(first).toBe(`the target is the database ${url.pathname.slice(1)} at the socket ${socket}, port ${url.port}`);
    expect(stdout + stderr).not.toContain('s3cret');
  });

  it('is told from others: a command that changes no table names none', async () => {
    expect(await runCli({ DATABASE_URL: url.href }, 'migrate', '--check')).toMatchObject({ code: 0, stderr: '' });
  });
});

describe('a command whose server is down', () => {
  it('says what it waits for, for how long and why, and ends at once on a signal', async () => {
    const gone = `127.0.0.1:${await freePort('127.0.0.1')}`;
    const waiting = startCli({ DATABASE_URL: `postgres://me:s3cret@${gone}/db` }, 'accounts', 'list');
    const [text] = (await once(waiting.child.stderr ?? waiting.child, 'data')) as [Buffer];
    expect(String(text)).toMatch(
      new RegExp(`^waiting up to 30 s for the database: connect ECONNREFUSED ${gone}; no server listens there; .*\\n$`),
    );
    waiting.child.kill('SIGTERM');
    const { code, stderr } = await waiting.ended;
    expect([code, stderr.includes('s3cret')]).toEqual([130, false]);
  });
});
