import { readdirSync, statSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync, gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { forged, functionsOf, inDatabase, rowsOf } from '../support/backups.js';
import { untilWritten, upload } from '../support/decisions.js';
import { history, play, playerOf } from '../support/histories.js';
import { newPublicKey } from '../support/keys.js';
import { addAccount, addBot } from '../support/principals.js';
import { runCli, startCli } from '../support/process.js';
import { describeSchema } from '../support/schema.js';
import { cloneDatabase, emptyDatabase, GATEWAY, type Service, startService } from '../support/service.js';

let service: Service;
let folder: string;
let file: string;

const backup = (databaseUrl: string, ...args: string[]) => runCli({ DATABASE_URL: databaseUrl }, 'backup', ...args);
/** Without the line that names the target, which cli-database.spec.ts has. */
const restore = async (databaseUrl: string, from: string) => {
  const ended = await runCli({ DATABASE_URL: databaseUrl }, 'restore', from);
  return { ...ended, stderr: ended.stderr.replace(/^the target is .*\n/, '') };
};

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'tas-backup-'));
  file = join(folder, 'first.backup');
  service = await startService(GATEWAY);
  const [steps] = fc.sample(history, { numRuns: 1, seed: 11 });
  await play(playerOf(service.admin), steps ?? []);
  await addAccount(service);
  await service.admin.delete(`/bot_users/${(await addBot(service)).id}`);
  await service.admin.post('/edges/tcp', { hostports: ['a.example:1'], traffic_policy: { value: '{"a":\n"b\\\\"}' } });
  const key = { public_key: newPublicKey(), description: 'ünï\t"\\ \\. \u2028 😀', acl: ['bind:*.example.com'] };
  const { id, fingerprint } = await upload(service, service.admin, key);
  // A removal that is not finished: a row that no event makes, and whose trigger would make it again.
  await service.pool.query(
    `insert into pending_removals select account_id, id, now() + interval '1 day' from principals where deleted limit 1
     on conflict (account_id, owner_id) do update set due_at = excluded.due_at`,
  );
  const question = { fingerprint, target: { domain: 'app.example.com' } };
  expect((await service.gateway.post('/ssh_gateway/authorize', question)).body).toMatchObject({ allowed: true });
  await untilWritten(service.gateway);
  expect((await service.admin.get(`/ssh_credentials/${id}/usage`)).body.last_used_at).not.toBeNull();
  expect(await backup(service.databaseUrl, file)).toMatchObject({ code: 0, stdout: '' });
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

describe('a backup beside the running service', () => {
  it('restores to the same rows, tables, functions and answers, decisions and last-used times included', async () => {
    const before = await rowsOf(service.databaseUrl);
    for (const table of ['bind_decisions', 'credential_usage', 'pending_removals', 'events', 'tcp_edge_hostports']) {
      expect(before.filter((row) => row.startsWith(`${table} `))).not.toEqual([]);
    }
    const restored = await restore(target.url, file);
    expect(restored).toMatchObject({ code: 0, stdout: '' });
    expect(restored.stderr).toMatch(
      /compared with them: all in order\nthe restored database is complete and proven\n$/,
    );
    expect(await rowsOf(target.url)).toEqual(before);
    expect(await functionsOf(target.url)).toEqual(await functionsOf(service.databaseUrl));
    const describeAt = (url: string) => inDatabase(url, (client) => describeSchema(client as never));
    expect(await describeAt(target.url)).toEqual(await describeAt(service.databaseUrl));
  });

  it('has every table of the database, and each is analyzed after the restore', async () => {
    const text = gunzipSync(await readFile(file)).toString();
    const backedUp = [...text.matchAll(/^\{"table":"(\w+)"/gm)].map(([, name]) => name).sort();
    const { rows } = await service.pool.query(
      `select relname as name from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace
       and relname not in ('migrations', 'migration_lock') order by 1`,
    );
    expect(backedUp).toEqual(rows.map(({ name }) => name));
    expect(await restore(target.url, file)).toMatchObject({ code: 0 });
    const guesses = await inDatabase(target.url, (client) =>
      client.query('select relname from pg_class where relname = any($1) and reltuples < 0', [backedUp]),
    );
    expect(guesses.rows).toEqual([]);
  });

  it('is of one moment, although changes go on, and needs a role that may only SELECT', async () => {
    const role = `reader_${target.url.split('/').at(-1)}`;
    // For this role alone each row of accounts takes a second, so the change comes after the log was read.
    await service.pool.query(`
      create role ${role} login; grant select on all tables in schema public to ${role};
      alter table accounts enable row level security;
      create policy slow on accounts for select to ${role} using (pg_sleep(1) is not null)`);
    const during = join(folder, 'during.backup');
    const running = backup(service.databaseUrl.replace('//postgres@', `//${role}@`), during);
    const reading = `select from pg_stat_activity where usename = $1 and query like 'copy%from accounts%'`;
    while ((await service.pool.query(reading, [role])).rowCount === 0) await new Promise((r) => setTimeout(r, 20));
    const late = await addBot(service);
    expect(await running).toMatchObject({ code: 0, stdout: '' });
    await service.pool.query(
      `drop policy slow on accounts; alter table accounts disable row level security; drop owned by ${role}; drop role ${role}`,
    );
    expect(await restore(target.url, during)).toMatchObject({ code: 0, stdout: '' });
    expect((await rowsOf(target.url)).filter((row) => row.includes(late.id))).toEqual([]);
  });

  it('can be read by its owner only, leaves no other file, and goes to stdout as well', async () => {
    expect((statSync(file).mode & 0o777).toString(8)).toBe('600');
    expect(readdirSync(folder).filter((name) => name.includes('partial'))).toEqual([]);
    const piped = startCli({ DATABASE_URL: service.databaseUrl }, 'backup', '-');
    const chunks: Buffer[] = [];
    piped.child.stdout?.on('data', (chunk: Buffer) => chunks.push(chunk));
    expect(await piped.ended).toMatchObject({ code: 0 });
    const printed = join(folder, 'printed.backup');
    await writeFile(printed, Buffer.concat(chunks));
    expect(await restore(target.url, printed)).toMatchObject({ code: 0 });
  });
});

describe('a backup is refused', () => {
  it('if the file exists, unless it may be overwritten', async () => {
    const taken = join(folder, 'taken.backup');
    await writeFile(taken, 'mine');
    expect(await backup(service.databaseUrl, taken)).toEqual({
      code: 2,
      stdout: '',
      stderr: `${taken} exists: name another file, or add --overwrite\n`,
    });
    expect(await readFile(taken, 'utf8')).toBe('mine');
    expect(await backup(service.databaseUrl, folder, '--overwrite')).toMatchObject({ code: 2 });
    expect(await backup(service.databaseUrl, taken, '--overwrite')).toMatchObject({ code: 0 });
    expect(await restore(target.url, taken)).toMatchObject({ code: 0 });
  });

  it('if the folder does not exist, or the database has no tables or those of a newer version', async () => {
    const lost = await backup(service.databaseUrl, '/no/such/folder/file');
    expect([lost.code, lost.stderr]).toEqual([2, expect.stringMatching(/^the file cannot be written: ENOENT/)]);
    const unused = join(folder, 'unused.backup');
    const empty = await backup(target.url, unused);
    expect([empty.code, empty.stderr]).toEqual([3, 'the database has no tables of the service, so there is no data\n']);
    const newer = await cloneDatabase();
    await inDatabase(newer.url, (client) =>
      client.query(`insert into migrations (timestamp, name) values (9999999999999, 'Later9999999999999')`),
    );
    const refused = await backup(newer.url, unused);
    await newer.drop();
    expect([refused.code, refused.stderr]).toEqual([
      3,
      expect.stringMatching(/^a newer version .*back it up with that/),
    ]);
    expect(readdirSync(folder).filter((name) => name.startsWith('unused'))).toEqual([]);
  });

  it('by a Ctrl-C, after which there is no file', async () => {
    const stopped = join(folder, 'stopped.backup');
    const holder = await service.pool.connect();
    await holder.query('begin; lock table tcp_edges in access exclusive mode');
    const running = startCli({ DATABASE_URL: service.databaseUrl }, 'backup', stopped);
    const waiting = `select from pg_stat_activity where query like 'lock table%' and wait_event_type = 'Lock'`;
    while ((await service.pool.query(waiting)).rowCount === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    running.child.kill('SIGINT');
    expect(await running.ended).toMatchObject({ code: 130, stdout: '' });
    await holder.query('rollback');
    holder.release();
    expect(readdirSync(folder).filter((name) => name.startsWith('stopped'))).toEqual([]);
  });
});

describe('a restore refuses', () => {
  const expectNothing = async (): Promise<void> =>
    expect((await rowsOf(target.url)).filter((row) => !/^migration/.test(row))).toEqual([]);
  const restoreBytes = async (bytes: Buffer) => {
    const other = join(folder, 'other.backup');
    await writeFile(other, bytes);
    return restore(target.url, other);
  };

  it('every file that was cut off or altered, before it opens the database', async () => {
    const whole = await readFile(file);
    const text = gunzipSync(whole);
    const flipped = (at: number): Buffer => {
      const bytes = Buffer.from(text);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      return gzipSync(bytes);
    };
    const broken = [
      ...[0, 1, 200, whole.length - 1].map((length) => whole.subarray(0, length)),
      ...[0.2, 0.5, 0.9].map((part) => gzipSync(text.subarray(0, Math.floor(text.length * part)))),
      gzipSync(text.subarray(0, text.lastIndexOf('{"end"'))),
      ...[30, 0.3, 0.6, 0.99].map((part) => flipped(part < 1 ? Math.floor(text.length * part) : part)),
      Buffer.concat([whole, gzipSync('more')]),
      gzipSync('{}\n'),
      Buffer.from('a text'),
    ];
    for (const [n, bytes] of broken.entries()) {
      const { code, stdout, stderr } = await restoreBytes(bytes);
      expect([n, code, stdout, stderr]).toEqual([
        n,
        3,
        '',
        expect.stringMatching(/^(the backup (is cut off|was altered)|the file is not a backup)[^\n]*\n$/),
      ]);
    }
    expect(await rowsOf(target.url)).toEqual([]);
  });

  it('a file whose digests are right but whose rows do not fit, and keeps none of it', async () => {
    const whole = await readFile(file);
    const withoutTable = forged(whole, (text) => text.replace(/^\{"table":"tcp_edges"[\s\S]*?\\\.\n.*\n/m, ''));
    const unknown = forged(whole, (text) => text.replace('"table":"accounts"', '"table":"pg_authid"'));
    const wrongColumn = forged(whole, (text) => text.replace('"columns":["account_id","size"', '"columns":["size"'));
    for (const [bytes, message] of [
      [withoutTable, 'the backup lacks the table tcp_edges'],
      [unknown, 'the backup has a table pg_authid that its migrations do not make'],
      [wrongColumn, 'the backup has a table log_heads that its migrations do not make'],
    ] as const) {
      const { code, stderr } = await restoreBytes(bytes);
      expect([code, stderr.slice(0, message.length)]).toEqual([3, message]);
      await expectNothing();
    }
    expect(await restore(target.url, file)).toMatchObject({ code: 0 });
  });

  it('a database that does not store the rows as they are, and keeps none of them', async () => {
    const clone = await cloneDatabase();
    await inDatabase(clone.url, (client) =>
      client.query(`create function shout() returns trigger language plpgsql as $$ begin new.name = upper(new.name); return new; end $$;
        create trigger shout before insert on accounts for each row execute function shout();
        alter table accounts enable always trigger shout`),
    );
    const { code, stderr } = await restore(clone.url, file);
    expect([code, stderr]).toEqual([3, expect.stringMatching(/^accounts holds 2 rows that are not the 2 rows of/)]);
    expect((await rowsOf(clone.url)).filter((row) => !/^migration/.test(row))).toEqual([]);
    await clone.drop();
  });

  it('a file of a version before the last one before 1.0', async () => {
    const old = forged(await readFile(file), (text) => text.replace(/"migrations":\[/, '$&"EventLog1763683200001",'));
    const { code, stderr } = await restoreBytes(old);
    expect([code, stderr]).toEqual([
      3,
      expect.stringMatching(/^an earlier version .*: restore it with commit \w{7}, /),
    ]);
  });

  it('a file of a newer version', async () => {
    const whole = await readFile(file);
    const migrated = forged(whole, (text) => text.replace(/"migrations":\[/, '$&"Later9999999999999",'));
    const reformed = forged(whole, (text) => text.replace('"version":1', '"version":2'));
    for (const bytes of [migrated, reformed]) {
      const { code, stderr } = await restoreBytes(bytes);
      expect([code, stderr]).toEqual([3, expect.stringMatching(/^a newer version of the service wrote this backup/)]);
    }
  });

  it('a database with rows, one with newer tables, and one that an instance uses', async () => {
    const used = await restore(service.databaseUrl, file);
    expect([used.code, used.stderr]).toEqual([3, expect.stringMatching(/^the database is not empty/)]);
    const clone = await cloneDatabase();
    const text = gunzipSync(await readFile(file)).toString();
    const [, newest = ''] = /"(\w+)"\]\}\n/.exec(text) ?? [];
    const older = join(folder, 'older.backup');
    await writeFile(
      older,
      forged(await readFile(file), (all) => all.replace(`,"${newest}"]`, ']')),
    );
    const newer = await restore(clone.url, older);
    expect([newer.code, newer.stderr]).toEqual([3, expect.stringMatching(/^the tables of the database are newer/)]);
    const connected = await inDatabase(clone.url, async (client) => {
      await client.query(`set application_name = 'tunnel-access'`);
      return restore(clone.url, file);
    });
    expect([connected.code, connected.stderr]).toEqual([3, expect.stringMatching(/^an instance of the service/)]);
    expect(await restore(clone.url, file)).toMatchObject({ code: 0 });
    await clone.drop();
  });
});

describe('a restore', () => {
  it('that is killed half-way leaves no row, and can be run again', async () => {
    const whole = await readFile(file);
    const running = startCli({ DATABASE_URL: target.url }, 'restore', '-');
    running.child.stdin?.write(whole.subarray(0, whole.length - 20));
    const copying = `select from pg_stat_activity where datname = $1 and query ~ '^(copy|CREATE INDEX) pending_removals'`;
    const name = target.url.split('/').at(-1);
    // The last table waits for its end.
    while ((await service.pool.query(copying, [name])).rowCount === 0) await new Promise((r) => setTimeout(r, 20));
    running.child.kill('SIGKILL');
    await running.ended;
    expect((await rowsOf(target.url)).filter((row) => !/^migration/.test(row))).toEqual([]);
    expect(await restore(target.url, file)).toMatchObject({ code: 0 });
    expect(await rowsOf(target.url)).toEqual(expect.arrayContaining([expect.stringMatching(/^bind_decisions /)]));
  });

  it('of a database that is not in order ends with 1, and says what the checks found', async () => {
    const spoiled = await cloneDatabase();
    expect(await restore(spoiled.url, file)).toMatchObject({ code: 0 });
    await inDatabase(spoiled.url, (client) => client.query(`update accounts set name = name || '!'`));
    const wrong = join(folder, 'wrong.backup');
    expect(await backup(spoiled.url, wrong)).toMatchObject({ code: 0 });
    const restored = await restore(target.url, wrong);
    expect(restored).toMatchObject({ code: 1, stdout: expect.stringMatching(/^accounts\t.*\tname\t/) });
    expect(restored.stderr).toMatch(/holds what the backup holds, but is not in order: see above\n$/);
    await spoiled.drop();
  });
});

it('a restore whose MIGRATION_DATABASE_URL names another database is refused before it changes anything', async () => {
  const other = await emptyDatabase();
  const settings = { DATABASE_URL: target.url, MIGRATION_DATABASE_URL: other.url };
  const { code, stderr } = await runCli(settings, 'restore', file);
  expect([code, stderr]).toEqual([3, expect.stringContaining('both must name the same one')]);
  for (const { url } of [target, other]) expect(await rowsOf(url)).toEqual([]);
  await other.drop();
});
