import { createHash } from 'node:crypto';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Writable } from 'node:stream';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { READ_MODELS } from '../../src/api/read-models.js';
import { exportAll as exportAllOf } from '../../src/event-log/transfer/export-all.js';
import { FORMAT, RECORDS } from '../../src/event-log/transfer/log-file.js';
import { KeyHistory, keyText, newCheckpointKey } from '../../src/event-log/transparency/seal/checkpoint-key.js';
import { inDatabase, rowsOf } from '../support/backups.js';
import { untilWritten, upload } from '../support/decisions.js';
import { eventually } from '../support/eventually.js';
import { history, play, playerOf } from '../support/histories.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount, addBot } from '../support/principals.js';
import { runCli, runCliOn, startCli } from '../support/process.js';
import { emptyDatabase, GATEWAY, type Service, startCopy, startService } from '../support/service.js';
import { endOf, newSession, newTunnel, ReportingGateway } from '../support/session-reports.js';

const KEY = newCheckpointKey('tunnels.example.com');

const PATHS = [
  '/ssh_credentials',
  '/edges/tcp',
  '/bot_users',
  '/api_keys',
  '/bind_decisions',
  '/log/checkpoint',
  '/log/proof?position=3',
];

let service: Service;
let folder: string;
let file: string;
let text: string;
/** What the database held, and what the service answered, when the file was written. */
let data: string[];
const answers = new Map<string, string>();

/** Exports everything into a new file of this name. */
async function exportAll(databaseUrl: string, name: string): Promise<string> {
  const path = join(folder, name);
  const { code, stdout } = await runCli({ DATABASE_URL: databaseUrl }, 'audit', 'export', '--all');
  expect(code).toBe(0);
  await writeFile(path, stdout);
  return path;
}

const importFile = (databaseUrl: string, from: string) =>
  runCli({ DATABASE_URL: databaseUrl, CHECKPOINT_KEY: keyText(KEY) }, 'audit', 'import', from);
const importText = (databaseUrl: string, content: string) =>
  runCliOn(content, { DATABASE_URL: databaseUrl }, 'audit', 'import', '-');

/** These lines with the digest of them in the last one. */
function sealed(lines: readonly string[]): string {
  const before = lines.slice(
    0,
    lines.findIndex((line) => line.startsWith('{"end"')),
  );
  const body = before.map((line) => `${line}\n`).join('');
  const sha256 = createHash('sha256').update(body).digest('hex');
  return `${body}${JSON.stringify({ end: FORMAT, sha256 })}\n`;
}

/** What gateways report again, wherever the service is. */
const LIVE = ['credential_presence', 'gateway_runs', 'gateway_watch', 'tunnel_sessions', 'tunnels'];
const NO_DATA = new RegExp(`^(migrations|migration_lock|${LIVE.join('|')}) `);

/** Claims are counted anew, and the times of tiles and statistics are no data. */
const dataOf = async (url: string): Promise<string[]> => (await rowsOf(url)).filter((row) => !NO_DATA.test(row));

const headsSealed = `select count(*)::int as open from log_heads h
  where h.size > coalesce((select max(size) from log_checkpoints c where c.account_id = h.account_id), 0)`;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-export-all-'));
  service = await startService({ ...GATEWAY, checkpointKeys: new KeyHistory(KEY) });
  const [steps] = fc.sample(history, { numRuns: 1, seed: 11 });
  await play(playerOf(service.admin), steps ?? []);
  await addAccount(service);
  // The removal of the first is done when the file is written: an import must not begin it again.
  for (let n = 0; n < 2; n += 1) await service.admin.delete(`/bot_users/${(await addBot(service)).id}`);
  await service.admin.post('/edges/tcp', { hostports: ['a.example:1'], traffic_policy: { value: '{"a":\n"b\\\\"}' } });
  // Its address rests, which no event says.
  const gone = await service.admin.post('/reserved_addrs', { addr: 'gone.example.com:1' });
  expect((await service.admin.delete(`/reserved_addrs/${gone.body.id}`)).status).toBe(204);
  const removals = 'select count(*)::int as left from pending_removals';
  await eventually(async () => expect((await service.pool.query(removals)).rows[0].left).toBe(0), 20_000);
  const key = { public_key: newPublicKey(), description: 'ünï\t"\\ \\. \u2028 😀', acl: ['bind:*.example.com'] };
  const { id, fingerprint } = await upload(service, service.admin, key);
  // A removal that is not finished: a row that no event makes, and whose trigger would make it again.
  await service.pool.query(
    `insert into pending_removals select account_id, id, now() + interval '1 day' from principals where deleted order by id desc limit 1
     on conflict (account_id, owner_id) do update set due_at = excluded.due_at`,
  );
  for (const one of [fingerprint, `SHA256:${'A'.repeat(43)}`]) {
    const question = { fingerprint: one, target: { domain: 'app.example.com' } };
    expect((await service.gateway.post('/ssh_gateway/authorize', question)).status).toBe(200);
  }
  await untilWritten(service.gateway);
  const { rows: accounts } = await service.pool.query(
    'select account_id as "accountId" from ssh_credentials where id = $1',
    [id],
  );
  const { rows: edges } = await service.pool.query('select id from tcp_edges where account_id = $1', [
    accounts[0].accountId,
  ]);
  const session = newSession({ ...accounts[0], id });
  const connection = {
    ...{
      account_id: session.account_id,
      edge_id: edges[0].id,
      hostport: 'a.example:1',
      ago_ms: 0,
      ms: 5,
      reason: 'closed',
    },
  };
  const ended = { sessions: [session], tunnels: [newTunnel(session)], ended_sessions: [endOf(session)] };
  await new ReportingGateway(service.gateway).whole({ ...ended, edge_connections: [connection] });
  expect((await service.admin.get(`/ssh_credentials/${id}/usage`)).body.last_used_at).not.toBeNull();
  await eventually(async () => expect((await service.pool.query(headsSealed)).rows[0].open).toBe(0), 20_000);
  await service.pool.query(
    `insert into log_alarms (account_id, loss, signed, mark, what, ended_at, reason)
     select account_id, 'tail', 9, 'root', 'found', now(), 'accepted' from log_heads`,
  );
  file = await exportAll(service.databaseUrl, 'first.ndjson');
  text = await readFile(file, 'utf8');
  data = await dataOf(service.databaseUrl);
  for (const path of PATHS) answers.set(path, JSON.stringify((await service.admin.get(path)).body));
});
afterAll(async () => {
  await service.stop();
  await rm(folder, { recursive: true, force: true });
});

let target: Awaited<ReturnType<typeof emptyDatabase>>;
beforeEach(async () => {
  target = await emptyDatabase();
});
afterEach(() => target.drop());

describe('audit export --all', () => {
  it('is imported into an empty database as the same rows of every table, and a new export is equal byte for byte', async () => {
    for (const table of [...RECORDS.map((one) => one.table), 'events', 'log_tiles', 'tcp_edge_hostports', 'claims']) {
      expect([table, data.some((row) => row.startsWith(`${table} `))]).toEqual([table, true]);
    }
    const { code, stdout, stderr } = await importFile(target.url, file);
    expect([code, stdout]).toEqual([0, '']);
    const { rows } = await service.pool.query('select account_id, size from log_heads order by 1');
    for (const { account_id, size } of rows) {
      expect(stderr).toMatch(
        new RegExp(
          `^imported ${size} events of account ${account_id} in [\\d.]+ s, with checkpoints up to position ${size}$`,
          'm',
        ),
      );
    }
    expect(stderr).toMatch(/\n\d+ rows made from these events, and proven\n$/);
    expect(await dataOf(target.url)).toEqual(data);
    expect(await readFile(await exportAll(target.url, 'again.ndjson'), 'utf8')).toBe(text);
    const verified = await runCli({ DATABASE_URL: target.url, CHECKPOINT_KEY: keyText(KEY) }, 'audit', 'verify');
    expect(verified).toMatchObject({ code: 0, stdout: '' });
  });

  it('has every table that is no fold of the log, no cache and no list of migrations', async () => {
    const { rows } = await service.pool.query(
      `select relname as name from pg_class where relkind in ('r', 'p') and not relispartition
         and relnamespace = 'public'::regnamespace order by 1`,
    );
    const made = [...LIVE, 'claims', 'events', 'log_heads', 'log_tiles', 'migration_lock', 'migrations'];
    const folds = READ_MODELS.flatMap((model) => model.tables.map(({ name }) => name));
    const records = RECORDS.map(({ table }) => table);
    expect([...made, ...folds, ...records].sort()).toEqual(rows.map(({ name }) => name));
  });

  it('is of one moment, although changes go on', async () => {
    let late = '';
    const chunks: Buffer[] = [];
    const output = new Writable({
      write: (chunk: Buffer, _, done) => {
        chunks.push(chunk);
        // The first event has been read, so the snapshot is taken.
        if (late !== '' || !String(chunk).includes('"leaf_hash"')) return done();
        addBot(service).then(({ id }) => {
          late = id;
          done();
        }, done);
      },
    });
    await exportAllOf(service.app.database, output, { begin: () => undefined, events: () => undefined });
    const during = Buffer.concat(chunks).toString();
    expect([late, during.includes(late)]).toEqual([expect.stringMatching(/^bot_/), false]);
    expect(await importText(target.url, during)).toMatchObject({ code: 0, stdout: '' });
  });

  it('needs a role that may only SELECT, and is refused where a policy would hide rows', async () => {
    const role = `reader_${target.url.split('/').at(-1)}`;
    await service.pool.query(`create role ${role} login; grant select on all tables in schema public to ${role}`);
    const database = { DATABASE_URL: service.databaseUrl.replace('//postgres@', `//${role}@`) };
    const run = () => runCli(database, 'audit', 'export', '--all');
    expect(await run()).toMatchObject({ code: 0, stdout: expect.stringMatching(/^\{"format":"tunnel-access-logs"/) });
    await service.pool.query(`alter table credential_usage enable row level security`);
    const refused = await run();
    await service.pool.query(
      `alter table credential_usage disable row level security; drop owned by ${role}; drop role ${role}`,
    );
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringMatching(/row-level security policy/)]);
  });

  it('of a log that is not as long as its head says has what is there, names the account, and ends with 1', async () => {
    expect(await importFile(target.url, file)).toMatchObject({ code: 0 });
    const account = await inDatabase(target.url, async (client) => {
      const { rows } = await client.query(
        'delete from log_heads where account_id = (select min(account_id) from events) returning account_id',
      );
      return rows[0].account_id;
    });
    const { code, stdout, stderr } = await runCli({ DATABASE_URL: target.url }, 'audit', 'export', '--all');
    expect([code, stderr]).toEqual([
      1,
      expect.stringContaining(`the head of a log does not match its length: ${account};`),
    ]);
    expect(stdout).toBe(text);
  });

  it('says that it is not complete when its reader goes away', async () => {
    const running = startCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'export', '--all');
    running.child.stdout?.destroy();
    expect(await running.ended).toMatchObject({
      code: 3,
      stderr: 'the program that reads the export ended before the last line: the backup is not complete\n',
    });
  });

  it.each([
    [['--all', '--account', 'ac_1'], /^--all and --account exclude each other: leave one out\n$/],
    [['--all', '--after', '3'], /^--all and --after exclude each other/],
  ])('is refused with %s', async (args, message) => {
    const ended = await runCli({ DATABASE_URL: service.databaseUrl }, 'audit', 'export', ...args);
    expect(ended).toMatchObject({ code: 2, stdout: '', stderr: expect.stringMatching(message) });
  });

  it('is refused for a database without tables, or with those of a newer version', async () => {
    const run = () => runCli({ DATABASE_URL: target.url }, 'audit', 'export', '--all');
    expect(await run()).toMatchObject({
      code: 3,
      stdout: '',
      stderr: 'the database has no tables of the service, so there is no data\n',
    });
    await inDatabase(target.url, (client) =>
      client.query(`create table migrations (id serial, timestamp bigint, name text);
        insert into migrations (timestamp, name) values (9999999999999, 'Later9999999999999')`),
    );
    expect(await run()).toMatchObject({
      code: 3,
      stderr: expect.stringMatching(/^a newer version .*export it with that/),
    });
  });
});

describe('audit import of a backup', () => {
  it('that is killed in the middle goes on after the last whole account, and ends as one that was not', async () => {
    const lines = text.split('\n');
    const second = lines.findLastIndex((line) => /^\{"account_id":"ac_\w+","events":\d+\}$/.test(line));
    const running = startCli({ DATABASE_URL: target.url }, 'audit', 'import', '-');
    running.child.stdin?.write(`${lines.slice(0, second + 5).join('\n')}\n`);
    await eventually(() => expect(running.stderr()).toMatch(/^imported \d+ events/m), 20_000);
    running.child.kill('SIGKILL');
    await running.ended;
    const half = await dataOf(target.url);
    expect(half.filter((row) => row.startsWith('log_heads '))).toHaveLength(1);
    const { code, stderr } = await importFile(target.url, file);
    expect([code, stderr]).toEqual([
      0,
      expect.stringMatching(/^\d+ events of account ac_\w+ are here already, with checkpoints/m),
    ]);
    expect(await dataOf(target.url)).toEqual(data);
  });

  it('refuses a database in which an account has another log, and changes nothing of it', async () => {
    expect(await importFile(target.url, file)).toMatchObject({ code: 0 });
    const other = service.pool;
    const { rows } = await other.query(`select account_id from log_heads order by 1 limit 1`);
    await inDatabase(target.url, async (client) => {
      await client.query('update log_heads set size = size - 1 where account_id = $1', [rows[0].account_id]);
    });
    const before = await dataOf(target.url);
    const { code, stderr } = await importFile(target.url, file);
    const message = new RegExp(
      `^line \\d+: account ${rows[0].account_id}: this database has another log of it\\. Import`,
      'm',
    );
    expect([code, stderr]).toEqual([3, expect.stringMatching(message)]);
    expect(await dataOf(target.url)).toEqual(before);
  });

  it('refuses what is here without all of its records: a log that was imported alone, and records of no account', async () => {
    const events = text.split('\n').filter((line) => line.includes('"leaf_hash"'));
    const [first] = events.map((line) => JSON.parse(line).account_id);
    const alone = events.filter((line) => line.startsWith(`{"account_id":"${first}"`));
    expect(await importText(target.url, `${alone.join('\n')}\n`)).toMatchObject({ code: 0 });
    const lacks = 'this database lacks records of this account, or has others. Import the file into an empty one';
    const refused = await importFile(target.url, file);
    expect([refused.code, refused.stderr]).toEqual([3, expect.stringContaining(`account ${first}: ${lacks}`)]);
    await inDatabase(target.url, (client) => client.query(`delete from bind_decisions where account_id = ''`));
    await inDatabase(target.url, (client) =>
      client.query(`insert into bind_decisions select (json_populate_record(null::bind_decisions, $1)).*`, [
        JSON.stringify({
          ...JSON.parse(text.split('\n').find((line) => line.includes('bind_decisions')) ?? '').row,
          id: 'bd_other',
        }),
      ]),
    );
    const other = await importFile(target.url, file);
    expect([other.code, other.stderr]).toEqual([3, expect.stringContaining(`records of no account: ${lacks}`)]);
  });

  const changes: [string, () => string, RegExp][] = [
    [
      'was cut off within its events',
      () => `${text.split('\n').slice(0, -4).join('\n')}\n`,
      /^the file is cut off: it has \d+ of/m,
    ],
    [
      'lacks its last line',
      () => `${text.trimEnd().split('\n').slice(0, -1).join('\n')}\n`,
      /^the file is cut off: its last line/m,
    ],
    ['goes on after its end', () => `${text}{}\n`, /^line \d+: the file should end before it$/m],
    [
      'is of another format',
      () => text.replace('tunnel-access-logs', 'other'),
      /^line 1: this is not a file that audit export/m,
    ],
    [
      'is of a newer format',
      () => text.replace('"version":1', '"version":2'),
      /^line 1: a newer version of the service wrote/m,
    ],
    [
      'has records of another table',
      () => text.replace('"table":"bind_decisions"', '"table":"pg_authid"'),
      /^line \d+: this version does not know records of/m,
    ],
    [
      'has a record of another account',
      () => text.replace(/("table":"bind_decisions","row":\{"account_id":")ac_/, '$1xx_'),
      /^line \d+: it is not a record of account/m,
    ],
    [
      'has a record that does not fit its table',
      () => text.replace(/"decided_at":"[^"]*"/, '"decided_at":"soon"'),
      /^lines \d+ to \d+: a record of bind_decisions is refused: a value is not of the type of its column$/m,
    ],
    [
      'has events of no account',
      () => text.replace('{"account_id":"","events":0}', '{"account_id":"","events":2}'),
      /^line 2: it should name an account/m,
    ],
  ];
  changes.push(
    [
      'was altered in a record, which no hash of an event holds,',
      () => text.replace('"reason":"unknown_key"', '"reason":"key_unknown"'),
      /^line \d+: the lines before it have another SHA-256: the file was altered or damaged/m,
    ],
    [
      'has a field of a later version',
      () => text.replace('{"table":"bind_decisions","row":{', '{"table":"bind_decisions","row":{"later":1,'),
      /^lines \d+ to \d+: a record of bind_decisions has a field that this version does not know$/m,
    ],
  );
  it.each(changes)('refuses a file that %s, in a sentence', async (_, content, message) => {
    expect(content()).not.toBe(text);
    const { code, stdout, stderr } = await importText(target.url, content());
    expect([code, stdout, stderr]).toEqual([3, '', expect.stringMatching(message)]);
    expect(stderr).not.toMatch(/^ +at /m);
  });

  it('of a log whose checkpoints do not fit its events ends with 1, and names the account', async () => {
    const lines = text.split('\n');
    const at = lines.findLastIndex((line) => line.startsWith('{"table":"log_checkpoints"'));
    const record = JSON.parse(lines[at] ?? '');
    const [origin, size, root = '', ...rest] = String(record.row.note).split('\n');
    const wrong = Buffer.from(root, 'base64').map((byte) => byte ^ 1);
    record.row.note = [origin, size, Buffer.from(wrong).toString('base64'), ...rest].join('\n');
    const { code, stdout, stderr } = await importText(target.url, sealed(lines.with(at, JSON.stringify(record))));
    expect([code, stdout]).toEqual([1, expect.stringMatching(/^ac_\w+\t.*checkpoint/m)]);
    expect(stderr).toMatch(/the file is imported, but the checks found \d+ faults/);
  });

  it('serves as before: every key, answer and proof', async () => {
    expect(await importFile(target.url, file)).toMatchObject({ code: 0 });
    const copy = await startCopy(service, { ...GATEWAY, checkpointKeys: new KeyHistory(KEY) }, target.url);
    for (const [path, answer] of answers) {
      const { status, body } = await copy.admin.get(path);
      expect([path, status, JSON.stringify(body)]).toEqual([
        path,
        200,
        answer.replaceAll(service.app.url, copy.app.url),
      ]);
    }
    await copy.stop();
  });
});

describe('a command that went', () => {
  it.each([
    ['backup', ['backup', 'tunnel-access.backup', '--overwrite'], 'audit export --all > FILE'],
    ['restore', ['restore', '-'], 'audit import FILE'],
  ])('%s names what took its place', async (name, args, now) => {
    expect(await runCli({}, ...args)).toEqual({
      code: 2,
      stdout: '',
      stderr: `there is no command ${name} any more: use tunnel-access ${now} (docs/backup.md)\n`,
    });
  });
});
