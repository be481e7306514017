import { existsSync } from 'node:fs';
import { mkdir, readFile, stat, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from '../support/api-client.js';
import { inDatabase } from '../support/backups.js';
import { newPublicKey } from '../support/keys.js';
import { logLines, type RunningMain, spawnCli, spawnMain, stopMain } from '../support/process.js';
import { cloneDatabase, emptyDatabase, type TestDatabase } from '../support/service.js';
import { dataDir, start, statusOf, useStarts } from '../support/starts.js';

useStarts();

const KEY = /[0-9A-Za-z]{27}_[\w-]{32}/;
const said = (main: RunningMain): string[] => logLines(main).map(({ msg }) => msg);

describe('a start on an embedded database', () => {
  it('says where the database is, and which file has the key and first calls; the next start keeps the data', async () => {
    const file = join(dataDir(), 'try-it.txt');
    await mkdir(dataDir(), { mode: 0o711 });
    await writeFile(file, 'of before', { mode: 0o644 });
    const first = start();
    const url = await first.url;
    while (!first.output().includes('first calls to try')) await sleep(5);
    const [made, ready, calls] = logLines(first).filter(
      ({ context }) => !['Database', 'Checkpoints'].includes(String(context)),
    );
    expect(ready).toMatchObject({ url, database: 'embedded PostgreSQL', data: expect.stringContaining(dataDir()) });
    expect(made).toMatchObject({
      msg: expect.stringMatching(/created now; the admin's API key is in .*try-it.txt, and nowhere else/),
    });
    expect(first.output()).not.toMatch(KEY);
    expect(calls).toMatchObject({ file, msg: `first calls to try are in ${file}` });
    // It is a new file, which nobody else can read, whatever was there.
    expect((await stat(file)).mode & 0o777).toBe(0o600);
    const text = await readFile(file, 'utf8');
    expect(text.startsWith(`log in    npx tunnel-access login ${url}\nAPI key   `)).toBe(true);
    const [key = ''] = KEY.exec(text) ?? [];
    const client = new ApiClient(url, key);
    const { body } = await client.post('/ssh_credentials', { public_key: newPublicKey() });
    expect(await stopMain(first, 'SIGINT')).toMatchObject({ code: 0 });

    const second = start();
    const again = new ApiClient(await second.url, key);
    expect((await again.get(`/ssh_credentials/${body.id}`)).body).toMatchObject({ public_key: body.public_key });
    expect(second.output()).not.toMatch(KEY);
    expect(await stopMain(second, 'SIGTERM')).toMatchObject({ code: 0 });
    expect(await readFile(file, 'utf8')).toBe(text);
    expect((await spawnCli({ DATA_DIR: dataDir() }, 'data', 'remove', '--yes')).code).toBe(0);
    expect(existsSync(dataDir())).toBe(false);
  });

  it('whose file of the first calls cannot be written says how to make a key', async () => {
    await mkdir(join(dataDir(), 'try-it.txt'), { recursive: true, mode: 0o711 });
    const main = start();
    expect(await statusOf(await main.url, 'another-key')).toBe(401);
    expect(said(main)).toContainEqual(
      expect.stringMatching(/API key cannot be shown, since .*EISDIR.*: run `.*api-keys create`$/),
    );
    expect(said(main).join()).not.toContain('first calls to try');
  });
});

it.each(['PORT', 'GATEWAY_LISTEN'])(
  'a start with a gateway whose %s is taken makes nothing, and names the setting',
  async (setting) => {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const settings = {
      DATA_DIR: dataDir(),
      GATEWAY_LISTEN: '127.0.0.1:0',
      GATEWAY_HOST_KEY: join(dataDir(), 'host_key'),
      [setting]: setting === 'PORT' ? String(port) : `127.0.0.1:${port}`,
    };
    const { code, output } = await spawnMain(settings, '--with-gateway');
    server.close();
    expect(code).toBe(3);
    expect(output).toMatch(
      new RegExp(`EADDRINUSE 127.0.0.1:${port}: another program listens there; .* set ${setting}"`),
    );
    expect(existsSync(dataDir())).toBe(false);
  },
);

describe('a start with DATABASE_URL', () => {
  it('starts no embedded server, and names the database without its password', async () => {
    const database = await cloneDatabase();
    const main = start({ DATABASE_URL: database.url.replace('postgres@', 'postgres:pass-word@') });
    await main.url;
    expect(main.output()).toMatch(/ on PostgreSQL at /);
    expect(main.output()).not.toContain('pass-word');
    await expect(readFile(join(dataDir(), 'postgres', 'PG_VERSION'))).rejects.toThrow('ENOENT');
    await stopMain(main);
    await database.drop();
  });

  it('stops at once on a signal while it waits for the database', async () => {
    const main = start({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' });
    while (!main.output().includes('waiting up to 30 s for the database')) await sleep(20);
    const stoppedAt = Date.now();
    expect(await stopMain(main)).toMatchObject({ code: 0 });
    // Not a measure of speed: otherwise the start would wait for half a minute.
    expect(Date.now() - stoppedAt).toBeLessThan(10_000);
  });

  it('refuses a database that is not UTF8', async () => {
    const database = await emptyDatabase(`encoding 'SQL_ASCII' template template0`);
    const main = start({ DATABASE_URL: database.url });
    const { code } = await main.ended;
    expect(code).toBe(3);
    expect(said(main)).toEqual(["the database's encoding is SQL_ASCII; create it with encoding 'UTF8'"]);
    await database.drop();
  });
});

/** The status and the header `Connection` of the answer. */
const askOn = (agent: Agent, url: string): Promise<readonly unknown[]> =>
  new Promise((resolve, reject) => {
    get(url, { agent }, (answer: IncomingMessage) => {
      answer.resume().on('end', () => resolve([answer.statusCode, answer.headers.connection]));
    }).on('error', reject);
  });

describe('a stop', () => {
  let database: TestDatabase;
  beforeAll(async () => {
    database = await cloneDatabase();
  });
  afterAll(() => database.drop());

  it('answers what arrives with the signal on kept connections', async () => {
    const main = start({ DATABASE_URL: database.url });
    const url = `${await main.url}/livez`;
    const agents = Array.from({ length: 12 }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    for (const agent of agents) expect(await askOn(agent, url)).toEqual([200, 'keep-alive']);
    main.child.kill('SIGTERM');
    const answers = await Promise.all(
      agents.map(async (agent, n) => {
        await sleep(n * 5);
        return askOn(agent, url);
      }),
    );
    expect(answers.map(([status]) => status)).toEqual(agents.map(() => 200));
    expect(await main.ended).toMatchObject({ code: 0 });
  });

  it('serves for SHUTDOWN_DELAY_SECONDS after SIGTERM, while it is not ready', async () => {
    const main = start({ DATABASE_URL: database.url, SHUTDOWN_DELAY_SECONDS: '2' });
    const url = await main.url;
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    expect(await askOn(kept, `${url}/readyz`)).toEqual([200, 'keep-alive']);
    const signalledAt = Date.now();
    main.child.kill('SIGTERM');
    while (!main.output().includes('serving for 2 s more')) await sleep(5);
    expect(await askOn(kept, `${url}/readyz`)).toEqual([503, 'close']);
    await sleep(1_000);
    expect(await askOn(new Agent(), `${url}/livez`)).toEqual([200, 'close']);
    expect(await main.ended).toMatchObject({ code: 0 });
    expect(Date.now() - signalledAt).toBeGreaterThanOrEqual(2_000);
  });
});

describe('the program', () => {
  const ran = (...args: string[]) => spawnMain({ DATA_DIR: dataDir() }, ...args);

  it('prints its help and its version instead of starting, and refuses an argument that it does not know', async () => {
    expect(await ran('--help')).toEqual({ code: 0, output: expect.stringMatching(/^Usage: main\.js /) });
    expect(await ran('--version')).toEqual({ code: 0, output: '0.1.0\n' });
    expect(await ran('--prot', '1')).toEqual({ code: 2, output: "error: unknown option '--prot'\n" });
    expect(await ran('serve')).toMatchObject({ code: 2, output: expect.stringMatching(/^error: too many arguments/) });
    expect(existsSync(dataDir())).toBe(false);
  });
});

describe('a start that fails says why in plain words', () => {
  it('names every bad setting at once and exits with 2', async () => {
    const main = start({ PORT: 'http', BOOTSTRAP_API_KEY: 'short', STRICT: '2' });
    expect((await main.ended).code).toBe(2);
    expect(said(main)[0]?.split('\n')).toEqual([
      "PORT 'http' must be a whole number from 0 to 65535; for example: 8080",
      'BOOTSTRAP_API_KEY is 5 characters long; the minimum is 16; for example: the output of: openssl rand -hex 24',
      "STRICT '2' must be true or false; for example: true",
    ]);
    expect(existsSync(dataDir())).toBe(false);
  });

  it.each([
    ['203.0.113.9', 'bind EADDRNOTAVAIL 203.0.113.9: this machine has no such address; set HOST'],
    ['no-such-host.invalid', 'no-such-host.invalid: no such host; set HOST to an address of this machine'],
  ])('says in one sentence that HOST %s cannot be bound', async (host, sentence) => {
    const { url, drop } = await emptyDatabase();
    const main = start({ HOST: host, DATABASE_URL: url });
    expect((await main.ended).code).toBe(3);
    expect(said(main)).toEqual([expect.stringContaining(sentence)]);
    // Its admin's key would never be shown.
    await expect(inDatabase(url, (client) => client.query('select from accounts'))).rejects.toThrow('does not exist');
    await drop();
  });
});
