import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../../src/api/app.js';
import { readConfig } from '../../src/api/config/config.js';
import { ServiceLog } from '../../src/api/service-log/service-log.js';
import { ApiClient } from '../support/api-client.js';
import { takeLines } from '../support/error-lines.js';
import { logLines, runCli, startMain, stopMain } from '../support/process.js';
import { cloneDatabase, testConfig } from '../support/service.js';

const KEY = 'the-first-key-of-the-operator';

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-first-key-'));
});
afterAll(() => rm(folder, { recursive: true, force: true }));

/** Jest may run on a terminal. */
const noTerminal = () => Object.assign(new ServiceLog('error'), { isOnTerminal: false });

/** What an instance on this database answers to the key. */
async function statusOf(databaseUrl: string, key: string, settings = {}): Promise<number> {
  const app = await createApp(testConfig(databaseUrl, { bootstrapApiKey: undefined, ...settings }), noTerminal());
  try {
    return (await new ApiClient(app.url, key).get('/ssh_credentials')).status;
  } finally {
    await app.close();
  }
}

describe('the first start with DATABASE_URL, without a terminal and without a key', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  let said: string[];
  let output: string;
  beforeAll(async () => {
    database = await cloneDatabase();
    const main = startMain({ DATABASE_URL: database.url });
    await main.url;
    await stopMain(main);
    said = logLines(main).flatMap(({ context, msg }) => (context === 'Checkpoints' ? [] : [msg]));
    output = main.output();
  });
  afterAll(() => database.drop());

  it('generates none, and says how to make one', () => {
    expect(said[0]).toMatch(/^account ac_\w+ was created now; the account has no API key yet/);
    for (const way of ['npx tunnel-access api-keys create', 'BOOTSTRAP_API_KEY', 'BOOTSTRAP_API_KEY_FILE']) {
      expect(said[0]).toContain(way);
    }
    expect(output).not.toMatch(/[0-9A-Za-z]{27}_[\w-]{32}/);
  });

  it('leaves an account and an admin, so that a later start makes the key of BOOTSTRAP_API_KEY, once', async () => {
    expect(await statusOf(database.url, KEY)).toBe(401);
    expect(await statusOf(database.url, KEY, { bootstrapApiKey: KEY })).toBe(200);
    expect(await statusOf(database.url, KEY)).toBe(200);
    // A key that was revoked must not come back with the next start.
    const app = await createApp(testConfig(database.url, { bootstrapApiKey: undefined }), noTerminal());
    const client = new ApiClient(app.url, KEY);
    const { body } = await client.get('/api_keys');
    expect(body.keys).toHaveLength(1);
    expect((await client.delete(`/api_keys/${body.keys[0].id}`)).status).toBe(204);
    await app.close();
    expect(await statusOf(database.url, KEY, { bootstrapApiKey: KEY })).toBe(401);
    const { stdout } = await runCli({ DATABASE_URL: database.url }, 'accounts', 'list');
    expect(stdout.trimEnd().split('\n')).toHaveLength(1);
  });
});

describe('after a start without a key', () => {
  let database: Awaited<ReturnType<typeof cloneDatabase>>;
  beforeAll(async () => {
    database = await cloneDatabase();
    expect(await statusOf(database.url, KEY)).toBe(401);
  });
  afterAll(() => database.drop());

  it('`api-keys create` makes one for the admin at once', async () => {
    const { code, stdout } = await runCli({ DATABASE_URL: database.url }, 'api-keys', 'create');
    expect(code).toBe(0);
    expect(await statusOf(database.url, stdout.trim())).toBe(200);
    expect(await statusOf(database.url, KEY, { bootstrapApiKey: KEY })).toBe(401);
  });
});

describe('BOOTSTRAP_API_KEY_FILE', () => {
  const fileWith = async (name: string, text: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, text);
    return path;
  };

  it('holds the key of the first admin, with or without a line end', async () => {
    const database = await cloneDatabase();
    const { bootstrapApiKeyFile } = readConfig({ BOOTSTRAP_API_KEY_FILE: await fileWith('key', `${KEY}\n`) });
    expect(await statusOf(database.url, KEY, { bootstrapApiKeyFile })).toBe(200);
    await database.drop();
  });

  it.each([
    ['cannot be read', () => join(folder, 'none'), {}, /^BOOTSTRAP_API_KEY_FILE '.*none' cannot be read: ENOENT/],
    ['is a folder', () => folder, {}, /^BOOTSTRAP_API_KEY_FILE '.*' cannot be read: EISDIR/],
    ['is empty', () => fileWith('empty', ' \n'), {}, /^BOOTSTRAP_API_KEY_FILE '.*empty' names a file that is empty;/],
    [
      'has a short key',
      () => fileWith('short', 's3cret'),
      {},
      /^BOOTSTRAP_API_KEY_FILE '.*short' names a file with a bad key: it is 6 characters long; the minimum is 16;/,
    ],
    [
      'is set beside BOOTSTRAP_API_KEY',
      () => fileWith('both', KEY),
      { BOOTSTRAP_API_KEY: KEY },
      /^BOOTSTRAP_API_KEY and BOOTSTRAP_API_KEY_FILE are both set; set one of them$/,
    ],
  ])('that %s is refused with a sentence, without the key', async (_, path, settings, sentence) => {
    const environment = { BOOTSTRAP_API_KEY_FILE: await path(), ...settings };
    expect(() => readConfig(environment)).toThrow(sentence);
    expect(() => readConfig(environment)).not.toThrow(/s3cret|first-key-of/);
  });
});

it.each([
  ['the-first-key-of-the-operator', true],
  ['0123456789abcdef0123456789abcdef', false],
])('a start warns of a first key that readers of the log could guess: %s, %s', async (key, isWarned) => {
  const database = await cloneDatabase();
  const lines = takeLines();
  await (await createApp(testConfig(database.url, { bootstrapApiKey: key }), noTerminal())).close();
  const said = lines.end().map(({ message }) => message);
  expect(said.some((line) => line.includes('fewer than 32 characters'))).toBe(isWarned);
  expect(said.join()).not.toContain(key);
  await database.drop();
});
