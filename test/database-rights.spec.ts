import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { TABLE_RIGHTS } from '../src/database/schema/rights.js';
import { LogAlarms } from '../src/event-log/transparency/seal/log-alarms.js';
import { textOf } from './support/documents.js';
import { newPublicKey } from './support/keys.js';
import { addUser, type TestPrincipal } from './support/principals.js';
import { runCli, runCliOn } from './support/process.js';
import { callerOf, prepareSample, SAMPLES } from './support/route-samples.js';
import type { Service } from './support/service.js';
import { makeTwoRoles, startAs, type TwoRoles } from './support/two-roles.js';

const SUPERUSER = `${process.env.TEST_POSTGRES_URL}/postgres`;

let roles: TwoRoles;
let service: Service;
let admin: TestPrincipal;
beforeAll(async () => {
  roles = await makeTwoRoles(SUPERUSER);
  const first = await startAs(roles.serviceUrl, roles.ownerUrl);
  await first.stop();
  service = await startAs(roles.serviceUrl);
  admin = await addUser(service, 'admin');
});
afterAll(() => service.stop());

/** The SQLSTATE with which the server refuses a statement of the role. */
async function refusal(url: string, statement: string): Promise<string | undefined> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    await client.query(statement);
    return undefined;
  } catch (error) {
    return (error as pg.DatabaseError).code;
  } finally {
    await client.end();
  }
}

const cli = (...args: string[]) => runCli({ DATABASE_URL: roles.serviceUrl }, ...args);
const asOwner = (...args: string[]) =>
  runCli({ DATABASE_URL: roles.serviceUrl, MIGRATION_DATABASE_URL: roles.ownerUrl }, ...args);

describe('the role of the service, whose tables another role owns,', () => {
  it.each(Object.keys(SAMPLES))('may do all that %s needs', async (route) => {
    const walk = { service, admin };
    const { call } = await prepareSample(walk, route);
    expect([200, 201, 204]).toContain((await call(callerOf(walk, route))).status);
  });

  it.each([
    'create table other (n int)',
    'create schema other',
    `update events set type = 'x'`,
    'delete from events',
    'truncate events',
    'alter table events disable trigger events_guard',
    'drop trigger events_guard on events',
    'truncate log_heads',
    'delete from log_heads',
    'delete from migrations',
    `update log_alarms set ended_at = now(), reason = 'x'`,
    'delete from log_alarms',
    'drop table accounts',
  ])('may not %s', async (statement) => {
    expect(await refusal(roles.serviceUrl, statement)).toBe('42501');
  });

  it('may have partitions kept, by a function that no temporary table of it deceives', async () => {
    const client = new pg.Client({ connectionString: roles.serviceUrl });
    await client.connect();
    try {
      await client.query(`create temp table tunnel_records_default (account_id text, id text);
        create function pg_temp.fired() returns trigger language plpgsql as $$ begin raise exception 'deceived'; end $$;
        create trigger deceive before delete on tunnel_records_default for each statement execute function pg_temp.fired();
        insert into tunnel_records_default values ('a', 'a'); grant all on tunnel_records_default to public`);
      await client.query(`select keep_partitions('tunnel_records', now())`);
      await client.query(`select keep_partitions('tunnel_records', now())`);
    } finally {
      await client.end();
    }
  });

  it('has the rights of the table in the code to every table, and no other', async () => {
    const granted = await roles.query(
      `select c.relname as table, coalesce(json_agg(privilege_type) filter (where grantee = '${roles.service}'::regrole), '[]') as rights
       from pg_class c left join aclexplode(c.relacl) on true
       where c.relkind in ('r', 'p') and not c.relispartition and c.relnamespace = 'public'::regnamespace group by 1`,
    );
    const found = Object.fromEntries(granted.map(({ table, rights }) => [table, [...(rights as string[])].sort()]));
    const wanted = Object.entries(TABLE_RIGHTS).map(([table, rights]) => [table, [...rights].sort()]);
    expect(found).toEqual(Object.fromEntries(wanted));
  });

  it('has the rights that docs/database.md names', () => {
    const rows = [...textOf('docs/database.md').matchAll(/^\| (`\w+`(?:, `\w+`)*) \| ([A-Z, ]+) \|$/gm)];
    const named = rows.flatMap(([, tables = '', rights = '']) =>
      [...tables.matchAll(/\w+/g)].map(([table]) => [table, rights.split(', ')]),
    );
    expect(Object.fromEntries(named)).toEqual(TABLE_RIGHTS);
  });

  it('records the bind decisions and the last use of a credential', async () => {
    const { body } = await admin.client.post('/ssh_credentials', {
      public_key: newPublicKey(),
      acl: ['bind:*.example'],
    });
    const [key] = await roles.query(`select fingerprint from ssh_credentials where id = '${body.id}'`);
    const question = { fingerprint: key?.fingerprint, target: { domain: 'a.example' } };
    expect((await service.gateway.post('/ssh_gateway/authorize', question)).body).toMatchObject({ allowed: true });
    const used = `select from credential_usage where credential_id = '${body.id}'`;
    while ((await roles.query(used)).length === 0) await new Promise((resolve) => setTimeout(resolve, 20));
    expect(await roles.query(`select from bind_decisions where credential_id = '${body.id}'`)).toHaveLength(1);
  });

  it('finishes a deletion that takes further changes', async () => {
    const user = await addUser(service, 'member', admin.client);
    await user.client.post('/ssh_credentials', { public_key: newPublicKey() });
    expect((await admin.client.delete(`/users/${user.id}`)).status).toBe(204);
    expect(await roles.query(`select from ssh_credentials where owner_id = '${user.id}'`)).toEqual([]);
    expect(await roles.query(`select from pending_removals where owner_id = '${user.id}'`)).toEqual([]);
  });

  it.each(['audit verify', 'projections prove', 'accounts list', 'api-keys create', 'accounts create Other'])(
    'may do all that `%s` needs',
    async (command) => {
      expect(await cli(...command.split(' '))).toMatchObject({ code: 0 });
    },
  );

  it('has rights that the schema check knows, whoever runs it, and none beyond them', async () => {
    const schemaBy = async (run: typeof cli) =>
      (await run('doctor')).stdout.split('\n').filter((line) => / schema /.test(line));
    const runAsOwner: typeof cli = (...args) => runCli({ DATABASE_URL: roles.ownerUrl }, ...args);
    const inOrder = ['ok       schema      it is what the migrations make, and nothing was added'];
    expect([await schemaBy(cli), await schemaBy(runAsOwner)]).toEqual([inOrder, inOrder]);
    await roles.query(`grant delete on gateway_watch to ${roles.service}`);
    const fault = `wrong    schema      the role ${roles.service} has rights to gateway_watch that it does not need: revoke DELETE on gateway_watch from ${roles.service}; then run projections prove`;
    expect([await schemaBy(cli), await schemaBy(runAsOwner)]).toEqual([[fault], [fault]]);
    await roles.query(`revoke delete on gateway_watch from ${roles.service}`);
  });

  it('may list alarms and raise one, which its owner alone may end', async () => {
    const [account = ''] = (await cli('accounts', 'list')).stdout.split('\t');
    const found = { accountId: account, loss: 'tail', signed: 1_000, mark: '', what: 'found' } as const;
    expect(await new LogAlarms(service.pool).raise(found)).toBe(true);
    expect((await cli('audit', 'alarms')).stdout).toMatch(new RegExp(`^${account}\ttail\t\\S+\tfound\n$`));
    const end = ['audit', 'alarms', 'end', account, '--reason', 'known'];
    expect(await cli(...end)).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('only the owner of the tables may end an alarm: set MIGRATION_DATABASE_URL'),
    });
    expect(await asOwner(...end)).toMatchObject({ code: 0, stdout: `${account}\ttail\tfound\n` });
    expect(await asOwner(...end)).toMatchObject({
      code: 2,
      stderr: expect.stringContaining(`${account} has no open alarm; audit alarms lists the open alarms\n`),
    });
  });

  it('may export a log, and import it into another database', async () => {
    const [account = ''] = (await cli('accounts', 'list')).stdout.split('\t');
    const { stdout, code } = await cli('audit', 'export', '--account', account);
    expect(code).toBe(0);
    const target = await makeTwoRoles(SUPERUSER);
    const settings = { DATABASE_URL: target.serviceUrl, MIGRATION_DATABASE_URL: target.ownerUrl };
    expect(await runCliOn(stdout, settings, 'audit', 'import', '-')).toMatchObject({ code: 0 });
    expect(await runCliOn(stdout, { DATABASE_URL: target.serviceUrl }, 'audit', 'import', '-')).toMatchObject({
      code: 3,
      stderr: expect.stringContaining('has a log in this database already'),
    });
  });

  it.each([
    ['may', cli],
    ['the owner may', asOwner],
  ])('repair rows: %s, and the service goes on with its rights', async (_, run) => {
    await roles.query(`update ssh_credentials set metadata = 'by hand'`);
    expect(await cli('projections', 'prove')).toMatchObject({ code: 1 });
    expect(await run('projections', 'repair')).toMatchObject({ code: 0 });
    expect((await admin.client.post('/ssh_credentials', { public_key: newPublicKey() })).status).toBe(201);
    expect(await cli('projections', 'prove')).toMatchObject({ code: 0 });
    expect(await asOwner('migrate', '--check')).toMatchObject({ code: 0 });
  });
});

describe('a right that the role of the service lacks', () => {
  it('is named at the start, and granted again by the owner', async () => {
    await roles.query(
      `revoke insert on events from ${roles.service}; revoke update, select on log_heads from ${roles.service};
       revoke execute on function require_primary() from public`,
    );
    const named = /INSERT on table public.events; SELECT, UPDATE on table public.log_heads/;
    const start = startAs(roles.serviceUrl);
    await expect(start).rejects.toThrow(named);
    await expect(start).rejects.toThrow(/EXECUTE on function public.require_primary\(.*MIGRATION_DATABASE_URL/s);
    const check = await cli('migrate', '--check');
    expect(check).toMatchObject({ code: 1, stdout: expect.stringMatching(named) });
    expect(await asOwner('migrate')).toMatchObject({ code: 0, stdout: expect.stringMatching(named) });
    expect(await cli('migrate', '--check')).toMatchObject({ code: 0 });
    await (await startAs(roles.serviceUrl)).stop();
  });

  it('may be that to the schema', async () => {
    await roles.query(`revoke usage on schema public from public, ${roles.service}`);
    await expect(startAs(roles.serviceUrl)).rejects.toThrow('USAGE on schema public');
    expect(await asOwner('migrate')).toMatchObject({
      code: 0,
      stdout: expect.stringContaining('USAGE on schema public'),
    });
    await (await startAs(roles.serviceUrl)).stop();
  });
});

it('a role that owns all tables by itself needs no grants', async () => {
  const owned = await makeTwoRoles(SUPERUSER);
  const instance = await startAs(owned.ownerUrl);
  expect((await instance.admin.get('/ssh_credentials')).status).toBe(200);
  await instance.stop();
});

it('MIGRATION_DATABASE_URL that leads to another database is refused before it changes anything', async () => {
  const [one, other] = [await makeTwoRoles(SUPERUSER), await makeTwoRoles(SUPERUSER)];
  const start = startAs(one.serviceUrl, other.ownerUrl);
  await expect(start).rejects.toThrow(
    /^MIGRATION_DATABASE_URL leads to the database roles_\w+, but DATABASE_URL to the/,
  );
  expect(await other.query(`select from pg_class where relname = 'events'`)).toEqual([]);
});

it('MIGRATION_DATABASE_URL with a role that owns nothing is told what it must own', async () => {
  const [one, other] = [await makeTwoRoles(SUPERUSER), await makeTwoRoles(SUPERUSER)];
  const stranger = one.serviceUrl.replace(one.service, other.owner);
  await expect(startAs(one.serviceUrl, stranger)).rejects.toThrow(
    /^the role owner_\w+ of MIGRATION_DATABASE_URL may not migrate \(permission denied .*: it must own the database roles_/,
  );
});

it('a role that may not create, on an empty database, is told what to do', async () => {
  const empty = await makeTwoRoles(SUPERUSER);
  const start = startAs(empty.serviceUrl);
  await expect(start).rejects.toThrow(
    /^\d+ migrations are pending, and the role service_\w+ may not run them \(permission denied/,
  );
  const url = empty.serviceUrl;
  expect(await runCli({ DATABASE_URL: url, MIGRATION_DATABASE_URL: url }, 'migrate')).toMatchObject({
    code: 3,
    stderr: expect.stringMatching(
      /^the target is [^\n]+\n\d+ migrations are pending, and the role service_[^\n]*MIGRATION_DATABASE_URL[^\n]*\n$/,
    ),
  });
});
