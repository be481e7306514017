import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { open, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, jest } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { inDatabase } from '../support/backups.js';
import { REPOSITORY } from '../support/documents.js';
import { freePort } from '../support/free-port.js';
import { newPublicKey } from '../support/keys.js';
import { stopAtEnd } from '../support/leftovers.js';
import { stopMain } from '../support/process.js';
import { emptyDatabase } from '../support/service.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';
import { startInForeground } from '../support/terminal.js';

/** Further starts of the program: test/program/start.spec.ts has those that need only Node. */
jest.setTimeout(120_000);
useStarts();

// biome-ignore lint/suspicious/noControlCharactersInRegex: colours
const COLOURS = /\x1b\[\d+m/g;
const isAlive = (pid: number): boolean => {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
};

describe('a start on an embedded database', () => {
  it('leaves no server running when it is stopped while it starts', async () => {
    const main = start();
    while (!existsSync(dataDir())) await sleep(10);
    expect(await stopMain(main)).toMatchObject({ code: 0 });
    const pid = await readFile(join(dataDir(), 'postgres', 'postmaster.pid'), 'utf8').catch(() => '');
    expect(pid === '' || !isAlive(Number(pid.split('\n')[0]))).toBe(true);
  });

  it('finishes the requests in flight when it is stopped', async () => {
    const main = start({ BOOTSTRAP_API_KEY: 'a-key-of-my-own-choice' });
    const url = await main.url;
    const client = new ApiClient(url, 'a-key-of-my-own-choice');
    await client.get('/ssh_credentials');
    const answers = Array.from({ length: 100 }, () => client.post('/ssh_credentials', { public_key: newPublicKey() }));
    await Promise.race(answers);
    main.child.kill('SIGTERM');
    main.child.kill('SIGTERM');
    const settled = await Promise.allSettled(answers);
    expect(await main.ended).toMatchObject({ code: 0 });
    // Each call was either answered or refused a connection. A call that was accepted must not be cut off.
    for (const s of settled) {
      if (s.status === 'fulfilled') expect(s.value.status).toBe(201);
      else expect(s.reason.code).toMatch(/^(ECONNREFUSED|ECONNRESET)$/);
    }
    const answered = settled.filter((s) => s.status === 'fulfilled').length;

    const next = start();
    const again = new ApiClient(await next.url, 'a-key-of-my-own-choice');
    expect((await again.get('/ssh_credentials')).body.ssh_credentials).toHaveLength(answered);
  });
});

describe('the log of a start', () => {
  it('is for people on a terminal: the welcome with two calls, a line for each change, errors and the stop', async () => {
    const env = { PATH: process.env.PATH ?? '', HOME: process.env.HOME ?? '', DATA_DIR: dataDir(), PORT: '0' };
    const { output, interrupt } = await startInForeground(`${process.execPath} dist/src/main.js`, 'README.md', {
      cwd: REPOSITORY,
      env,
    });
    const [, url = ''] = /ready at (\S+)/.exec(output()) ?? [];
    const [, key = ''] = /API key {3}(\S+)/.exec(output()) ?? [];
    // Before anything else: what to do. Only a start of more than 8 s says meanwhile what it does.
    const shown = output()
      .replaceAll('\r', '')
      .replace(COLOURS, '')
      .replace(/^(\d\d:\d\d:\d\d INFO .*\n( {15}.*\n)*)+/, '');
    const steps = [
      `  log in    npx tunnel-access login ${url}`,
      `  API key   ${key}  (for the login; shown only once)`,
    ];
    const [, link] = /console {3}(\S+)/.exec(output()) ?? [];
    expect(link).toMatch(/\/console#once=[\w-]{43}$/);
    steps.push(`  console   ${link}  (works once, for 5 min)`);
    const lines = ['', `Tunnel access service is ready at ${url}`, '', ...steps, `  docs      ${url}/docs`];
    expect(shown.startsWith(lines.join('\n'))).toBe(true);
    expect(shown).not.toContain('ac_');
    const client = new ApiClient(url, key);
    const { headers } = await client.post('/ssh_credentials', { public_key: newPublicKey() });
    await interrupt();
    const plain = output().replace(COLOURS, '');
    expect(plain).toMatch(/^\d\d:\d\d:\d\d INFO {2}POST \/ssh_credentials 201 ms=[\d.]+/m);
    expect(plain).not.toContain(headers.get('ngrok-operation-id'));
    expect(plain.split('\n').filter((line) => line.length > 120)).toEqual([]);
    expect(plain).toMatch(/ INFO {2}SIGINT: finishing the requests in flight signal=SIGINT\n[\d:]+ INFO {2}stopped\n$/);
    expect(plain).not.toContain('{"level"');
  });

  it('may be on a full disk: the service goes on, and ends with 0', async () => {
    const full = await open('/dev/full', 'w');
    const port = await freePort('127.0.0.1');
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir(), PORT: String(port) };
    const settings = { BOOTSTRAP_API_KEY: 'a-key-of-my-own-choice' };
    const child = spawn(process.execPath, [`${REPOSITORY}/dist/src/main.js`], {
      env: { ...env, ...settings },
      stdio: ['ignore', full.fd, 'inherit'],
    });
    stopAtEnd(async () => void child.kill('SIGKILL'));
    const url = `http://127.0.0.1:${port}`;
    while ((await statusOf(url, 'a-key-of-my-own-choice').catch(() => 0)) !== 200) await sleep(20);
    expect(await statusOf(url, 'another-key')).toBe(401);
    child.kill('SIGTERM');
    expect(await once(child, 'exit')).toEqual([0, null]);
    await full.close();
  });
});

describe('a start with DATABASE_URL', () => {
  it('of five instances at once on an empty database migrates once, creates one account, and all serve', async () => {
    const database = await emptyDatabase();
    const settings = {
      DATABASE_URL: database.url,
      BOOTSTRAP_API_KEY: 'one-key-for-all-instances',
      DATABASE_POOL_SIZE: '3',
    };
    const instances = Array.from({ length: 5 }, () => start(settings));
    const urls = await Promise.all(instances.map((instance) => instance.url));
    for (const url of urls) expect(await statusOf(url, 'one-key-for-all-instances')).toBe(200);
    expect(instances.filter((instance) => instance.output().includes('created now'))).toHaveLength(1);
    const counts = 'select count(*)::int as accounts, (select count(*)::int from events) as events from accounts';
    const { rows } = await inDatabase(database.url, (client) => client.query(counts));
    expect(rows).toEqual([{ accounts: 1, events: 3 }]);
    await Promise.all(instances.map((instance) => stopMain(instance)));
    await database.drop();
  });
});
