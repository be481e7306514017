import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import pg from 'pg';
import { READ_MODELS } from '../src/api/read-models.js';
import { type Database, openDatabase } from '../src/database/database.js';
import type { LoggedEvent } from '../src/event-log/verify/logged-event.js';
import { linesOf } from '../src/operator/audit/ndjson.js';
import { ApiClient } from './support/api-client.js';
import { history, play, playerOf } from './support/histories.js';
import { imported } from './support/imported.js';
import { newPublicKey } from './support/keys.js';
import { longer, rehashed } from './support/longer-log.js';
import { addAccount, addBot } from './support/principals.js';
import { runCliOn } from './support/process.js';
import { cloneDatabase, type Service, startService, testConfig } from './support/service.js';

let service: Service;
let account: string;
let exported: string;
let folder: string;

/** Runs a command on a database, with this stdin. */
const cli = (databaseUrl: string, args: readonly string[], stdin = '') =>
  runCliOn(stdin, { DATABASE_URL: databaseUrl }, ...args);

const exportOf = async (databaseUrl: string, ...args: string[]): Promise<string> => {
  const { code, stdout, stderr } = await cli(databaseUrl, ['audit', 'export', ...args]);
  expect([code, stderr]).toEqual([0, '']);
  return stdout;
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-log-file-'));
  service = await startService();
  const [steps] = fc.sample(history, { numRuns: 1, seed: 7 });
  await play(playerOf(service.admin), steps ?? []);
  await service.admin.post('/ssh_credentials', { public_key: newPublicKey(), description: 'ünï\t"\\ \u2028 😀' });
  await service.admin.post('/edges/tcp', { hostports: ['a.example:1'], traffic_policy: { value: '{"a":\n"b\\\\"}' } });
  await service.admin.delete(`/bot_users/${(await addBot(service)).id}`);
  const { rows } = await service.pool.query('select account_id from accounts');
  account = rows[0].account_id;
  exported = await exportOf(service.databaseUrl);
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

describe('audit export', () => {
  it('writes every event of the account with the bytes and the hash of the log', async () => {
    const lines = exported
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    const { rows } = await service.pool.query(
      `select position::int, stream_id, stream_version, event_id, type, data, metadata, encode(leaf_hash, 'hex') as leaf_hash
       from events order by position`,
    );
    expect(lines.map(({ account_id, occurred_at, recorded_at, ...rest }) => rest)).toEqual(rows);
    expect(new Set(lines.map((line) => line.account_id))).toEqual(new Set([account]));
    for (const line of lines) expect(line.recorded_at).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$/);
  });

  it('begins after a position', async () => {
    const after = await exportOf(service.databaseUrl, '--account', account, '--after', '3');
    expect(after).toBe(exported.split('\n').slice(3).join('\n'));
  });

  it('lists the accounts if there are several and the command names no account', async () => {
    const other = await startService();
    const { accountId } = await addAccount(other);
    const several = await cli(other.databaseUrl, ['audit', 'export']);
    expect(several).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(accountId) });
    expect(await cli(other.databaseUrl, ['audit', 'export', '--after', '-1'])).toMatchObject({ code: 2, stdout: '' });
    expect(await exportOf(other.databaseUrl, '--account', accountId)).toMatch(/^\{"account_id":"ac_/);
    await other.stop();
  });
});

const rowsOf = async (client: pg.Client | pg.Pool): Promise<string[]> => {
  const tables = ['events', 'log_heads', ...READ_MODELS.flatMap((model) => model.tables.map(({ name }) => name))];
  const query = tables.map(
    // The transaction of an event belongs to one server.
    (name) =>
      `select '${name} ' || (to_jsonb(t) - 'transaction_id')::text as row from ${name} t where account_id = '${account}'`,
  );
  return (await client.query(`${query.join(' union all ')} order by 1`)).rows.map(({ row }) => row);
};
const expectNothing = async (sql: pg.Client): Promise<void> => expect(await rowsOf(sql)).toEqual([]);

const lines = (): string[] => exported.trimEnd().split('\n');
const changed = (at: number, change: (event: Record<string, unknown>) => object): string =>
  `${lines()
    .map((line, i) => (i === at ? JSON.stringify(change(JSON.parse(line))) : line))
    .join('\n')}\n`;

/** The log with some events changed, and hashed anew. `change` gives what differs. */
function rewritten(change: (event: LoggedEvent, all: readonly LoggedEvent[]) => object): string {
  const events = lines().map((line) => JSON.parse(line) as LoggedEvent);
  return events.map((event) => `${JSON.stringify(rehashed({ ...event, ...change(event, events) }))}\n`).join('');
}
const firstOf = (kind: RegExp, all: readonly LoggedEvent[]) => all.find(({ stream_id }) => kind.test(stream_id));

/** A wrong version in the first event of a stream of this kind and in the tenth event. */
const misnumbered = (kind: RegExp): string =>
  rewritten((event, all) => (event === firstOf(kind, all) || event === all[9] ? { stream_version: 9 } : {}));

/** Other data in the first event of a stream of this kind. */
const withData = (kind: RegExp, data: string): string =>
  rewritten((event, all) => (event === firstOf(kind, all) ? { data } : {}));

/** The first two events of a stream are swapped. */
const disordered = (): string =>
  rewritten(({ stream_id, stream_version: version }, all) => {
    const stream = all.find(({ stream_version }) => stream_version === 2)?.stream_id;
    return stream_id === stream && version < 3 ? { stream_version: 3 - version } : {};
  });

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client(url);
  await client.connect();
  return client;
}

describe('audit import', () => {
  let target: Awaited<ReturnType<typeof cloneDatabase>>;
  let sql: pg.Client;
  beforeEach(async () => {
    target = await cloneDatabase();
    sql = await connect(target.url);
  });
  afterEach(async () => {
    await sql.end();
    await target.drop();
  });

  const importing = (content: string) => cli(target.url, ['audit', 'import', '-'], content);

  it('writes the same events, hashes, head and rows, and a new export is equal byte for byte', async () => {
    const file = join(folder, 'log.ndjson');
    await writeFile(file, exported);
    const { code, stdout, stderr } = await cli(target.url, ['audit', 'import', file]);
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toMatch(
      /^imported \d+ events of account ac_\w+ in [\d.]+ s\n\d+ rows made from these events, and proven\n$/,
    );
    expect(await rowsOf(sql)).toEqual(await rowsOf(service.pool));
    expect(await exportOf(target.url)).toBe(await readFile(file, 'utf8'));
    expect(await cli(target.url, ['audit', 'verify'])).toMatchObject({ code: 0, stdout: '' });
  });

  it('refuses an account that has a log here', async () => {
    await sql.query(`insert into log_heads values ($1, 0, now())`, [account]);
    expect(await importing(exported)).toEqual({
      code: 3,
      stdout: '',
      stderr: `line 1: account ${account} has a log in this database already\n`,
    });
  });

  it('refuses a value that another account holds exclusively, without showing it; warns of shared public keys', async () => {
    await sql.query(
      `insert into api_keys select 'ac_other', id, 1, now(), '', '', '', $1 from (values ('ak_1')) k(id)`,
      [JSON.parse(JSON.parse(lines().find((line) => line.includes('api_key_created')) ?? '').data).token_hash],
    );
    const refused = await importing(exported);
    expect(refused).toEqual({
      code: 3,
      stdout: '',
      stderr:
        'api_keys_token_hash is violated: another account of this database has the same value, or one that excludes it\n',
    });
    await expectNothing(sql);
    await sql.query('delete from api_keys');

    const { rows } = await service.pool.query('select fingerprint from ssh_credentials limit 1');
    await sql.query(
      `insert into ssh_credentials values ('ac_other', 'sshcr_z', 1, now(), '', '', '', '{}', '', '', 0, '', $1, false)`,
      [rows[0].fingerprint],
    );
    const hostports = await service.pool.query('select hostport from tcp_edge_hostports limit 1');
    const value = `hostport:${hostports.rows[0].hostport}`;
    await sql.query(`insert into claims values ($1, 'ac_other', 1, true)`, [value]);
    const { code, stderr } = await importing(exported);
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining(`warning: 1 public keys of account ${account} are also live on another account;`),
    ]);
    // The other account's credential was made after the imported one.
    expect(stderr).toContain(
      `warning: 1 of these keys now belong to account ${account}: a shared public key belongs to the account`,
    );
  });

  it('writes a log of many blocks', async () => {
    const log = long();
    expect(await importing(log)).toMatchObject({ code: 0 });
    expect(await exportOf(target.url)).toBe(log);
  });

  /** Imports the log, and runs `meanwhile` when half of it has been read. */
  const importAround = (database: Database, meanwhile: () => Promise<void>) =>
    imported(
      database,
      (async function* () {
        for (const [n, line] of lines().entries()) {
          yield [line];
          if (n === lines().length >> 1) await meanwhile();
        }
      })(),
    );

  it('leaves the tables to a service that has other accounts', async () => {
    const other = await startService({ bootstrapApiKey: 'other-admin-key-0123456789' });
    const database = await openDatabase(testConfig(other.databaseUrl), () => undefined);
    await importAround(database, async () => {
      const admin = new ApiClient(other.app.url, 'other-admin-key-0123456789');
      const created = await admin.post('/ssh_credentials', { public_key: newPublicKey() });
      expect(created.status).toBe(201);
    });
    await database.close();
    await other.stop();
  });

  it('warns if the account is now the oldest, to which OIDC users sign in', async () => {
    await sql.query(`insert into accounts values ('ac_other', 'ac_other', 1, now(), 'Other', '{}')`);
    const { code, stderr } = await importing(exported);
    // The row has no log; the proof of the imported account does not read it.
    expect([code, stderr]).toEqual([
      0,
      expect.stringContaining('is now the oldest account: OIDC users sign in to it when OIDC_ACCOUNT is unset\n'),
    ]);
    expect(stderr).not.toContain('public key');
  });
});

const LONG = 1_000;

/** The log and so many edges more that it goes to PostgreSQL in many blocks. One of these lines may be changed. */
const long = (lineNumber?: number, change?: (event: object) => object): string =>
  longer(exported, 'tcp_edge_created', LONG, lineNumber, change);

describe('audit import of a wrong file', () => {
  /** One database for all these files: each must leave it as it was. */
  let target: Awaited<ReturnType<typeof cloneDatabase>>;
  let database: Awaited<ReturnType<typeof openDatabase>>;
  let sql: pg.Client;
  beforeAll(async () => {
    target = await cloneDatabase();
    sql = await connect(target.url);
    database = await openDatabase(testConfig(target.url), () => undefined);
  });
  afterAll(async () => {
    await database.close();
    await sql.end();
    await target.drop();
  });

  it.each<[string, () => string, RegExp]>([
    ['an empty file', () => '', /^the file is empty$/],
    ['a cut last line', () => exported.slice(0, -20), /^line \d+: the file ends in the middle of this line$/],
    [
      'a line that is not JSON',
      () => `${lines()[0]}\nnot json\n`,
      /^line 2: it is not a JSON object; was the file cut\?$/,
    ],
    [
      'a field too few',
      () => changed(1, ({ metadata, ...rest }) => rest),
      /^line 2: the field metadata is missing, unknown or of the wrong type$/,
    ],
    [
      'a beginning after position 1',
      () => `${lines().slice(2).join('\n')}\n`,
      /^line 1: its position is 3; an imported log must start at position 1/,
    ],
    ['a gap', () => `${lines().toSpliced(3, 1).join('\n')}\n`, /^line 4: its position is 5;/],
    [
      'another hash',
      () => changed(2, (event) => ({ ...event, leaf_hash: 'ab'.repeat(32) })),
      /^line 3: its leaf_hash is not the hash/,
    ],
    [
      'another account in the middle',
      () => changed(4, (event) => ({ ...event, account_id: 'ac_x' })),
      /^line 5: its account is ac_x/,
    ],
    [
      'an unknown type',
      () => changed(2, (event) => ({ ...event, type: 'api_key_lost.v9' })),
      /^line 3: this version .* does not know events of type api_key_lost\.v9/,
    ],
    [
      'an unknown kind of stream',
      () => changed(2, (event) => ({ ...event, stream_id: 'x_1' })),
      /^line 3: this version .* in stream x_1$/,
    ],
    [
      'time that stands still',
      () => changed(2, (event) => ({ ...event, recorded_at: JSON.parse(lines()[1] ?? '').recorded_at })),
      /^line 3: recorded_at is not later/,
    ],
    ...(
      [
        ['a malformed event id', { event_id: 'x' }, /^line 3: event_id is not a UUID$/],
        ['a short id', { stream_id: 'ak_1' }, /^line 3: stream_id is not an id$/],
        [
          'a day that does not exist',
          { occurred_at: '2026-02-30T03:04:05.000000Z' },
          /^line 3: occurred_at is not a time as/,
        ],
        ['an infinite time', { recorded_at: 'infinity' }, /^line 3: recorded_at is not a time as export writes it$/],
        ['data that is not JSON', { data: '{' }, /^line 3: data is not a JSON object/],
        ['a name twice in data', { data: '{"a":1,"a":2}' }, /^line 3: data is not a JSON object/],
        [
          'metadata without an actor',
          { metadata: '{}' },
          /^line 3: metadata is not a JSON object that names an actor$/,
        ],
      ] as const
    ).map(([what, fields, message]): [string, () => string, RegExp] => [
      what,
      () => changed(2, (event) => ({ ...event, ...fields })),
      message,
    ]),
    [
      'an account id of another form',
      () => exported.replaceAll(account, 'ac_1'),
      /^line 1: account_id is not the id of an account$/,
    ],
    [
      'an event id twice',
      () => changed(2, (event) => rehashed({ ...event, event_id: JSON.parse(lines()[1] ?? '').event_id })),
      /^line 3: events_event_id duplicate key value violates unique constraint "events_event_id"$/,
    ],
    ...(['{}', '{"hostports":1}', '{"description":"\\u0000"}'] as const).map((data): [string, () => string, RegExp] => [
      `a creation with the data ${data}`,
      () => withData(/^edgtcp_/, data),
      /: its data lacks a field, or has /,
    ]),
    [
      'an event id twice, in one of many blocks',
      () => long(600, (event) => rehashed({ ...event, event_id: JSON.parse(lines()[0] ?? '').event_id })),
      /^line 600: events_event_id duplicate/,
    ],
    [
      'another hash, after many blocks',
      () => long(LONG, (event) => ({ ...event, leaf_hash: 'ab'.repeat(32) })),
      /^line 1000: its leaf_hash is not the hash/,
    ],
    [
      // Rows are made of users last. As a text, 10 comes before 2.
      'faults of two streams, by the line of the first,',
      () => misnumbered(/^usr_/),
      /^line 2: its stream_version does not follow/,
    ],
    ['versions of a stream in another order', disordered, /^line \d+: its stream_version does not follow/],
  ])('refuses %s and writes nothing', async (_, content, message) => {
    const lines = linesOf(Readable.from([Buffer.from(content())]));
    await expect(imported(database, lines)).rejects.toThrow(message);
    await expectNothing(sql);
  });

  it('refuses a directory with 2', async () => {
    expect(await cli(target.url, ['audit', 'import', folder])).toEqual({
      code: 2,
      stdout: '',
      stderr: `${folder} is a directory, not a file that audit export wrote\n`,
    });
  });
});
