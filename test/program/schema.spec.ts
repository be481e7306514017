import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { compareSchema } from '../../src/database/schema/schema-comparison.js';
import { inDatabase } from '../support/backups.js';
import { freePort } from '../support/free-port.js';
import { newPublicKey } from '../support/keys.js';
import { runCli } from '../support/process.js';
import { cloneDatabase, type Service, startService, type TestDatabase } from '../support/service.js';

/** Another role of the server. */
const OTHER = `other_${randomBytes(6).toString('hex')}`;
const RESTORE = 'make it as the migrations do (docs/database.md#the-schema)';
const DO_NOTHING = 'returns trigger language plpgsql as $$ begin return null; end $$';
/** Runs a statement for a partition of a day. */
const onPartition = (statement: string): string =>
  `do $$ begin execute format('${statement}', (select min(relname) from pg_class where relname ~ '^bind_decisions_[0-9]{8}$')); end $$`;
const setting = (assignment: string): string =>
  `do $$ begin execute format('alter database %I set ${assignment}', current_database()); end $$`;
const otherGuard = (events: string): string =>
  `drop trigger events_guard on events; create trigger events_guard before ${events} execute function refuse_change_of_history()`;

/** What someone did, and a part of the line that says so. */
type Change = readonly [what: string, sql: string, said: string];

const FAULTS: readonly Change[] = [
  [
    'a dropped trigger',
    'drop trigger events_guard on events',
    `the trigger events_guard on events is missing: ${RESTORE}`,
  ],
  [
    'a disabled trigger',
    'alter table log_checkpoints disable trigger log_checkpoints_guard',
    'the trigger log_checkpoints_guard on log_checkpoints is switched off (disabled): alter table log_checkpoints enable trigger log_checkpoints_guard',
  ],
  [
    'a trigger for replicas only',
    'alter table log_tiles enable replica trigger log_tiles_guard',
    'the trigger log_tiles_guard on log_tiles is switched off (for replicas only): alter table',
  ],
  [
    'a trigger with a condition',
    otherGuard('update or delete or truncate on events for each statement when (false)'),
    'the trigger events_guard on events is ',
  ],
  [
    'a trigger for one column',
    otherGuard('update of account_id or delete or truncate on events for each statement'),
    'the trigger events_guard on events is ',
  ],
  [
    'a trigger for fewer events',
    otherGuard('update or truncate on events for each statement'),
    'the trigger events_guard on events is ',
  ],
  [
    'a trigger with another function',
    `create function f() ${DO_NOTHING}; create or replace trigger log_alarms_guard before delete or update on log_alarms for each row execute function f()`,
    'the trigger log_alarms_guard on log_alarms is ',
  ],
  [
    'an added trigger that changes rows on their way in',
    `create function f() returns trigger language plpgsql as $$ begin new.description = 'other'; return new; end $$;
    create trigger t before insert on ssh_credentials for each row execute function f()`,
    'the trigger t on ssh_credentials is not one of the service, and can change what is written or read there: drop trigger t on ssh_credentials',
  ],
  [
    'an added trigger on a partition',
    `create function f() ${DO_NOTHING}; ${onPartition('create trigger t before insert on %I for each row execute function f()')}`,
    'the trigger t on bind_decisions_2',
  ],
  [
    'an added rule',
    'create rule r as on insert to log_alarms do instead nothing',
    'the rule r on log_alarms is not one of the service, and can change what is written or read there: drop rule r on log_alarms',
  ],
  [
    'an added policy',
    'create policy p on log_checkpoints using (size < 500)',
    'the policy p on log_checkpoints is not one of the service',
  ],
  [
    'row level security',
    'alter table events enable row level security',
    `the table events is 'permanent, row level security', and not 'permanent': ${RESTORE}`,
  ],
  [
    'an added foreign key',
    'create table mine (id text primary key); alter table tunnel_groups add constraint f foreign key (id) references mine on delete cascade not valid',
    'alter table tunnel_groups drop constraint f',
  ],
  [
    'a table that inherits',
    'create table heir () inherits (events)',
    'the child table heir on events is not one of the service, and can change what is written or read there: alter table heir no inherit events',
  ],
  [
    'the body of a function',
    `create or replace function refuse_change_of_tile() ${DO_NOTHING}`,
    "the function refuse_change_of_tile() is '() RETURNS trigger LANGUAGE plpgsql body ",
  ],
  [
    'a function that runs as its owner',
    'alter function lock_names(text[]) security definer',
    "the function lock_names(text[]) is '(names text[]) RETURNS void LANGUAGE plpgsql SECURITY DEFINER body",
  ],
  [
    'the search path of a function',
    'alter function keep_partitions reset search_path',
    'the function keep_partitions(text, timestamp with time zone) is ',
  ],
  ['the volatility of a function', 'alter function require_primary() immutable', 'the function require_primary() is '],
  [
    'a dropped function',
    'drop function reserving_accounts(text, boolean)',
    'the function reserving_accounts(text, boolean) is missing',
  ],
  [
    'a second function of one name',
    `create function has_reserved(account varchar, claim text) returns boolean language sql as 'select true'`,
    'drop function has_reserved(character varying, text)',
  ],
  [
    'a dropped constraint',
    'alter table log_alarms drop constraint log_alarms_end',
    'the constraint log_alarms_end on log_alarms is missing',
  ],
  [
    'a constraint that is not valid',
    'alter table log_checkpoints drop constraint log_checkpoints_grow, add constraint log_checkpoints_grow check (size > follows) not valid',
    "the constraint log_checkpoints_grow on log_checkpoints is 'CHECK (size > follows) NOT VALID', and not 'CHECK (size > follows)'",
  ],
  ['a dropped index', 'drop index events_type', 'the index events_type on events is missing'],
  [
    'an invalid index',
    `update pg_index set indisvalid = false where indexrelid = 'events_type'::regclass`,
    `the index events_type on events is 'btree (account_id, type, "position") invalid', and not`,
  ],
  [
    'an index that is not unique',
    'drop index claims_exclusive; create index claims_exclusive on claims (value) where exclusive',
    "the index claims_exclusive on claims is 'btree (value) WHERE exclusive', and not 'unique btree",
  ],
  ['a dropped column', 'alter table tunnel_groups drop column labels', 'the column labels on tunnel_groups is missing'],
  [
    'the type of a column',
    'alter table events alter data type jsonb using data::jsonb',
    "the column data on events is 'jsonb not null', and not 'text not null'",
  ],
  [
    'the default of a column',
    'alter table log_heads alter rights_position set default 9',
    "the column rights_position on log_heads is 'bigint not null default 9', and not 'bigint not null default 0'",
  ],
  [
    'a column that may be null',
    'alter table api_keys alter token_hash drop not null',
    `the column token_hash on api_keys is 'text collate "C"', and not`,
  ],
  [
    'a column whose nulls PostgreSQL 18 leaves',
    'alter table api_keys alter token_hash drop not null, add constraint n not null token_hash not valid',
    `the column token_hash on api_keys is 'text collate "C"', and not`,
  ],
  [
    'a generated column that is one no more',
    'alter table ssh_credentials alter acl_digest drop expression',
    "the column acl_digest on ssh_credentials is 'bytea', and not 'bytea generated s acl_digest(acl)'",
  ],
  ['a dropped table', 'drop table claims', 'the table claims is missing'],
  [
    'a view instead of a table',
    'alter table tunnel_groups rename to mine; create view tunnel_groups as select * from mine',
    'the table tunnel_groups is missing',
  ],
  [
    'a table that a crash empties',
    'alter table credential_usage set unlogged',
    "the table credential_usage is 'unlogged', and not 'permanent'",
  ],
  [
    'another owner of a table',
    `alter table api_keys owner to ${OTHER}`,
    `the table api_keys is 'permanent, owner ${OTHER}', and not 'permanent'`,
  ],
  ['another owner of a function', `alter function keep_partitions owner to ${OTHER}`, `owner ${OTHER}', and not`],
  [
    'a right of everyone to change events',
    'grant update, delete on events to public',
    'the role PUBLIC has rights to events that it does not need: revoke DELETE, UPDATE on events from PUBLIC',
  ],
  [
    'a right to one column',
    `grant update (ended_at) on log_alarms to ${OTHER}`,
    `the role ${OTHER} has rights to log_alarms that it does not need: revoke UPDATE`,
  ],
  [
    'a right to write a table of the current state',
    `grant insert on ssh_credentials to ${OTHER}`,
    `the role ${OTHER} has rights to ssh_credentials that it does not need: revoke INSERT`,
  ],
  [
    'a right to a partition',
    onPartition(`grant delete on %I to ${OTHER}`),
    `the role ${OTHER} has rights to bind_decisions_2`,
  ],
  [
    'a right to what runs as the owner',
    'grant execute on function keep_partitions to public',
    'the role PUBLIC has rights to function keep_partitions(text, timestamp with time zone) that it does not need: revoke EXECUTE',
  ],
];

/** A setting is read at the begin of a session; without a table, or with another type, nothing else can be checked. */
const FOR_COMMANDS: readonly Change[] = [
  [
    'triggers that a default of the database switches off',
    setting('session_replication_role = replica'),
    "the setting session_replication_role is 'replica', and not 'origin': triggers do not fire with it: reset it",
  ],
  [
    'a default of the database that is for repairs alone',
    setting('tunnel_access.repair = on'),
    "the setting tunnel_access.repair is 'on', and not 'off'",
  ],
  ...FAULTS.filter(([what]) => ['a dropped trigger', 'a dropped table', 'the type of a column'].includes(what)),
];

const ADDITIONS: readonly Change[] = [
  ['an index', 'create index i on events (recorded_at)', 'index i on events'],
  ['a column', 'alter table accounts add note text', 'column note on accounts'],
  ['a constraint', `alter table accounts add constraint c check (name <> '')`, 'constraint c on accounts'],
  [
    'a table, its triggers and its rules',
    `create table mine (n int); create function f() ${DO_NOTHING}; create trigger t before insert on mine for each row execute function f()`,
    'function f(), table mine;',
  ],
  ['a view', 'create view mine as select id from tunnel_groups', 'view mine;'],
  ['an extension', 'create extension pg_stat_statements', 'extension pg_stat_statements;'],
  [
    'an event trigger',
    'create function f() returns event_trigger language plpgsql as $$ begin end $$; create event trigger e on ddl_command_end execute function f()',
    'event trigger e',
  ],
  [
    'a partition that was kept',
    onPartition('alter table bind_decisions detach partition %I'),
    'table bind_decisions_2',
  ],
  ['a role that reads', `grant select on all tables in schema public to ${OTHER}`, `the right SELECT of ${OTHER};`],
  ['a role that may create', `grant create on schema public to ${OTHER}`, `the right CREATE of ${OTHER};`],
];

describe('a schema', () => {
  let service: Service;
  let original: TestDatabase;
  let port: string;
  beforeAll(async () => {
    service = await startService();
    await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    await service.app.close();
    port = String(await freePort('127.0.0.1'));
    original = { url: service.databaseUrl, drop: service.stop };
    await inDatabase(original.url, (client) => client.query(`create role ${OTHER}`));
  });
  afterAll(async () => {
    await inDatabase(original.url, (client) => client.query(`drop role ${OTHER}`));
    await original.drop();
  });

  /** What the three commands say after a change: their exit codes, and the lines about the schema. */
  async function saidAfter(sql: string) {
    const { url, drop } = await cloneDatabase(original);
    try {
      await inDatabase(url, (client) => client.query(sql));
      const run = (...args: string[]) => runCli({ DATABASE_URL: url, PORT: port }, ...args);
      const doctor = await run('doctor');
      const others = [await run('audit', 'verify'), await run('projections', 'prove')];
      const lines = (text: string, begin: RegExp): string[] =>
        text.split('\n').flatMap((line) => (begin.test(line) ? line.replace(begin, '') : []));
      return {
        codes: [doctor, ...others].map(({ code }) => code),
        doctor: doctor.stdout.split('\n').filter((line) => /^\w+ +schema /.test(line)),
        faults: others.map(({ stdout }) => lines(stdout, /^all accounts\t/)),
        warnings: others.map(({ stderr }) => lines(stderr, /^the schema has what this version does not make: /)),
      };
    } finally {
      await drop();
    }
  }

  /** What they have found, after a change that is undone. */
  const foundAfter = (sql: string) =>
    inDatabase(original.url, async (client) => {
      await client.query(`begin; ${sql}`);
      const found = await compareSchema(client);
      await client.query('rollback');
      return found;
    });

  it('as it is made, with all of its partitions, is in order', async () => {
    expect(await saidAfter('select')).toEqual({
      codes: [0, 0, 0],
      doctor: ['ok       schema      it is what the migrations make, and nothing was added'],
      faults: [[], []],
      warnings: [[], []],
    });
  });

  it.each(FAULTS)('with %s is a fault, with its way out', async (_, sql, said) => {
    expect((await foundAfter(sql)).faults).toContainEqual(expect.stringContaining(said));
  });

  it.each(ADDITIONS)('with %s more is a warning', async (_, sql, said) => {
    expect(await foundAfter(sql)).toMatchObject({ faults: [], addition: expect.stringContaining(said) });
  });

  it.each(FOR_COMMANDS)('with %s makes doctor, verify and prove exit with 1, and say so', async (_, sql, said) => {
    const { codes, doctor, faults } = await saidAfter(sql);
    expect(codes).toEqual([1, 1, 1]);
    expect(doctor).toContainEqual(expect.stringContaining(said));
    expect(doctor.filter((line) => line.includes(said)).every((line) => line.startsWith('wrong '))).toBe(true);
    for (const one of faults) expect(one).toContainEqual(expect.stringContaining(said));
  });

  it('with an index more is a warning of all three, which exit with 0', async () => {
    const { codes, doctor, faults, warnings } = await saidAfter('create index i on events (recorded_at)');
    const said = 'index i on events';
    expect([codes, faults]).toEqual([
      [0, 0, 0],
      [[], []],
    ]);
    expect(doctor).toEqual([expect.stringMatching(/^warning .*; leave it if you added it, or else remove it$/)]);
    expect(doctor[0]).toContain(said);
    for (const one of warnings) expect(one).toEqual([expect.stringContaining(said)]);
  });
});
