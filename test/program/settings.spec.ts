import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readConfig } from '../../src/api/config/config.js';
import { ApiClient } from '../support/api-client.js';
import { freePort } from '../support/free-port.js';
import { stopAtEnd } from '../support/leftovers.js';
import { CLI, logLines, runCli, spawnCli, startCli, stopMain } from '../support/process.js';
import { cloneDatabase, type Service, startService } from '../support/service.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';

/** Environments and settings of operators. */
useStarts();

const KEY = 'a-key-of-my-own-choice';
let service: Service;
let folder: string;
beforeAll(async () => {
  service = await startService();
  folder = await mkdtemp(join(tmpdir(), 'tas-settings-'));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

async function fileWith(text: string): Promise<string> {
  const file = join(folder, 'settings');
  await writeFile(file, text);
  return file;
}

describe('--settings FILE', () => {
  const url = () => `${service.databaseUrl}?application_name=x&connect_timeout=5`;

  it('gives a command the settings of the service, before or after its name', async () => {
    const file = await fileWith(`# of the service\nDATABASE_URL="${url()}"\n`);
    for (const args of [
      ['--settings', file, 'accounts', 'list'],
      ['accounts', 'list', '--settings', file],
    ]) {
      const { code, stdout } = await spawnCli({}, ...args);
      expect([code, stdout]).toEqual([0, expect.stringMatching(/^ac_/)]);
    }
    // An & without quotes too: systemd expands nothing.
    const plain = await fileWith(`DATABASE_URL=${url()}\n`);
    expect((await runCli({}, 'doctor', '--settings', plain)).stdout).toMatch(/^ok: settings|^ok {2}settings|settings/m);
    expect((await runCli({}, 'accounts', 'list', '--settings', plain)).code).toBe(0);
  });

  it('gives them to a start too', async () => {
    const database = await cloneDatabase();
    const file = await fileWith(`DATABASE_URL='${database.url}'\nBOOTSTRAP_API_KEY=${KEY}\nPORT=0\n`);
    const main = startCli({}, 'start', '--settings', file);
    while (main.child.exitCode === null && !main.stdout().includes('ready at http')) await sleep(20);
    expect(main.stdout()).toContain("the admin's API key is the value of BOOTSTRAP_API_KEY");
    main.child.kill('SIGTERM');
    expect(await main.ended).toMatchObject({ code: 0 });
    await database.drop();
  });

  it('refuses a setting that the environment has with another value, since either could be meant', async () => {
    const file = await fileWith(`DATABASE_URL=${url()}\n`);
    const { code, stderr } = await runCli(
      { DATABASE_URL: 'postgres://s3cret@127.0.0.1/x' },
      'accounts',
      'list',
      '--settings',
      file,
    );
    const sentence = `DATABASE_URL is in the environment, and in ${file} with another value: remove one of them\n`;
    expect([code, stderr]).toEqual([2, sentence]);
    expect((await runCli({ DATABASE_URL: url() }, 'accounts', 'list', '--settings', file)).code).toBe(0);
  });

  it('ends with 2 and a sentence if the file cannot be read', async () => {
    const file = await fileWith('PORT 8080\n');
    expect(await runCli({}, 'accounts', 'list', '--settings', file)).toMatchObject({
      code: 2,
      stderr: `the file of --settings, ${file}, cannot be read: line 1 has no '='\n`,
    });
    expect(await runCli({}, 'accounts', 'list', '--settings', '/nonexistent')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('/nonexistent, cannot be read: ENOENT'),
    });
  });

  it('is in the help of every command', async () => {
    expect((await runCli({}, 'audit', 'export', '--help')).stdout).toContain('--settings <file>');
  });
});

describe('a variable that is nearly a setting', () => {
  const sentence = 'the variable DATABSE_URL is not a setting: is DATABASE_URL meant?';

  it('is named by doctor and by commands', async () => {
    expect((await runCli({ DATABSE_URL: 'x', DATA_DIR: dataDir() }, 'doctor')).stdout).toContain(sentence);
    const { code, stderr } = await runCli({ DATABSE_URL: 'x', DATA_DIR: dataDir() }, 'accounts', 'list');
    expect([code, stderr.split('\n')[0]]).toEqual([3, sentence]);
  });

  it('is not one that every shell has, nor one of PostgreSQL', async () => {
    const usual = { HOME: '/root', HOSTNAME: 'x', PWD: '/', PGPORT: '5433', PGHOST: 'x', TERM: 'xterm', PATH: '/bin' };
    expect((await runCli({ ...usual, DATA_DIR: dataDir() }, 'doctor')).stdout).not.toContain('is no setting');
  });
});

describe('NODE_ENV=production', () => {
  it('without DATABASE_URL and DATA_DIR makes no database, and says what to set', async () => {
    const cwd = await mkdtemp(join(folder, 'cwd-'));
    const child = spawn(process.execPath, [CLI, 'start'], {
      cwd,
      env: { PATH: process.env.PATH, PORT: '0', NODE_ENV: 'production', BOOTSTRAP_API_KEY: KEY },
    });
    stopAtEnd(async () => void child.kill('SIGKILL'));
    let output = '';
    child.stdout.on('data', (data) => {
      output += data;
    });
    expect(await new Promise((resolve) => child.on('close', resolve))).toBe(3);
    expect(JSON.parse(output).msg).toMatch(
      /NODE_ENV is production, and neither DATABASE_URL nor DATA_DIR is set: set /,
    );
    expect(await readdir(cwd)).toEqual([]);
  });
});

describe('an embedded database', () => {
  it('gets no checkpoint key with CHECKPOINT_KEY=off, nor the settings of a person who works with PostgreSQL', async () => {
    const first = start({
      // In production DATA_DIR is enough.
      ...{ NODE_ENV: 'production', BOOTSTRAP_API_KEY: KEY, CHECKPOINT_KEY: 'off', DATABSE_URL: 'postgres://x' },
      ...{ PGOPTIONS: '-c search_path=other', PGSSLMODE: 'require', PGDATABASE: 'x', PGUSER: 'y', PGTZ: 'Asia/Tokyo' },
    });
    const url = await first.url;
    expect(await statusOf(url, KEY)).toBe(200);
    const { body } = await new ApiClient(url, undefined).get('/readyz');
    expect(body.checkpoints).toBe('off: CHECKPOINT_KEY names no key');
    expect(await readdir(dataDir())).not.toContain('checkpoint-key');
    expect(first.output()).toContain('CHECKPOINT_KEY is off, so the logs get no signed checkpoints');
    // A variable that is nearly a setting is named first of all.
    const sentence = 'the variable DATABSE_URL is not a setting: is DATABASE_URL meant?';
    expect(logLines(first)[0]).toMatchObject({ level: 'warn', msg: sentence });
    await stopMain(first);

    // As with fsGroup of Kubernetes, which opens the folder to a group.
    const cluster = join(dataDir(), 'postgres');
    await chmod(cluster, 0o2770);
    const second = start();
    expect(await statusOf(await second.url, KEY)).toBe(200);
    expect((await stat(cluster)).mode & 0o7777).toBe(0o700);
  });
});

it('a start that another program made a worker of node:cluster, as pm2 -i does, serves', async () => {
  const [database, port] = [await cloneDatabase(), await freePort('127.0.0.1')];
  const script = `
    const cluster = require('node:cluster');
    cluster.setupPrimary({ exec: ${JSON.stringify(CLI)}, args: ['start'], execArgv: [] });
    cluster.fork().on('exit', (code) => process.exit(code));`;
  const env = { PATH: process.env.PATH, DATABASE_URL: database.url, PORT: String(port), BOOTSTRAP_API_KEY: KEY };
  const child = spawn(process.execPath, ['-e', script], { env, detached: true });
  stopAtEnd(async () => {
    if (child.exitCode === null) process.kill(-(child.pid ?? 0), 'SIGKILL');
  });
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  while ((await statusOf(`http://127.0.0.1:${port}`, KEY).catch(() => 0)) !== 200) await sleep(20);
  expect(output).toContain('ready at');
  const ended = once(child, 'exit');
  process.kill(-(child.pid ?? 0), 'SIGTERM');
  await ended;
  await database.drop();
});

it.each([
  [
    { WORKERS: '2' },
    'WORKERS is no longer a setting: one start is one process. Start several instances behind a proxy (docs/operating.md)',
  ],
  [
    { REPLICA_DATABASE_URL: 'postgres://SEKRET77@standby.example/a' },
    'REPLICA_DATABASE_URL is no longer a setting: the primary answers every read. Take it out; standbys are for failover (docs/failover.md)',
  ],
  [{ DEAR_READ_CONNECTIONS: '4' }, 'DEAR_READ_CONNECTIONS is no longer a setting: its name is AUDIT_READ_CONNECTIONS'],
  [{ DEAR_READ_TIMEOUT_MS: '10000' }, 'DEAR_READ_TIMEOUT_MS is no longer a setting: its name is AUDIT_READ_TIMEOUT_MS'],
])('a setting of before is refused with the way out, without its value: %o', (env, sentence) => {
  expect(() => readConfig(env)).toThrow(new Error(sentence));
});

it('WORKERS=1 is what one start is', () => {
  expect(() => readConfig({ WORKERS: '1' })).not.toThrow();
});

describe('a secret in a URL', () => {
  it.each([
    ['audit push', ['audit', 'push', 'https://x:SEKRET77@log.example'], {}],
    ['audit push --to', ['audit', 'push', 'https://log.example', '--to', 'https://x:SEKRET77@siem.example/a'], {}],
    [
      'audit push --to, as a user',
      ['audit', 'push', 'https://log.example', '--to', 'https://SEKRET77@siem.example/a'],
      {},
    ],
    ['audit witness', ['audit', 'witness', 'https://x:SEKRET77@log.example'], {}],
    ['audit push, malformed', ['audit', 'push', 'h/a?token=SEKRET77'], {}],
    ['audit push --to, malformed', ['audit', 'push', 'https://log.example', '--to', 'x:SEKRET77@h/a'], {}],
    ['audit witness, malformed', ['audit', 'witness', 'h:1/a?token=SEKRET77'], {}],
    ['a malformed PUBLIC_URL', ['accounts', 'list'], { PUBLIC_URL: 'h/a?token=SEKRET77' }],
    ['a PUBLIC_URL with a query', ['accounts', 'list'], { PUBLIC_URL: 'https://h/a?token=SEKRET77' }],
    ['a malformed OIDC_ISSUER', ['accounts', 'list'], { OIDC_ISSUER: 'x:SEKRET77@h', OIDC_AUDIENCE: 'x' }],
    ['a malformed SERVICE_URL', ['gateway'], { SERVICE_URL: 'h#SEKRET77', GATEWAY_TOKEN: 'a-token-of-a-gateway' }],
    ['a malformed DATABASE_URL', ['accounts', 'list'], { DATABASE_URL: 'h/a?password=SEKRET77' }],
    ['PUBLIC_URL', ['accounts', 'list'], { PUBLIC_URL: 'https://x:SEKRET77@tunnels.example.com' }],
    ['OIDC_ISSUER', ['accounts', 'list'], { OIDC_ISSUER: 'https://x:SEKRET77@id.example.com?a=1', OIDC_AUDIENCE: 'x' }],
    [
      'SERVICE_URL',
      ['gateway'],
      { SERVICE_URL: 'http://x:SEKRET77@127.0.0.1:1', GATEWAY_TOKEN: 'a-token-of-a-gateway' },
    ],
    ['DATABASE_URL', ['accounts', 'list'], { DATABASE_URL: 'postgres://x:SEKRET77@127.0.0.1:1/x?sslmode=no' }],
  ])('is never repeated: %s', async (_, args, settings) => {
    const { code, stdout, stderr } = await runCli({ DATA_DIR: dataDir(), ...settings }, ...args);
    expect(code).not.toBe(0);
    expect(stdout + stderr).not.toContain('SEKRET77');
  });
});
