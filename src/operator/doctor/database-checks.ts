import { statfs } from 'node:fs/promises';
import { BlockList, Socket } from 'node:net';
import type { Client } from 'pg';
import type { Config } from '../../api/config/config.js';
import {
  compareSchema,
  describeLack,
  describeRights,
  KNOWN_MIGRATIONS,
  readMigrations,
  readRoleDefaults,
  readSchemaState,
  readSuitability,
} from '../../database/index.js';
import { checkClaims, checkFirstKey, checkGateways } from './account-checks.js';
import { checkAlarms, checkCheckpoints } from './checkpoint-checks.js';
import { type Finding, ok, warning, wrong } from './finding.js';
import { checkMaxima } from './maxima-check.js';
import { checkOwner } from './owner-check.js';
import { type Primary, rowOf } from './server-check.js';

type DatabaseCheck = (primary: Primary, config: Config) => Promise<readonly Finding[]>;

/** The checks of the database, by their names in the output. They only read. */
export const DATABASE_CHECKS: Readonly<Record<string, DatabaseCheck>> = {
  version: checkVersion,
  migrations: checkMigrations,
  rights: checkRights,
  owner: checkOwner,
  schema: checkSchema,
  history: checkHistory,
  checkpoints: checkCheckpoints,
  alarms: checkAlarms,
  encryption: checkEncryption,
  connections: checkConnections,
  plans: checkPlans,
  clock: checkClock,
  disk: checkDisk,
  bootstrap: checkFirstKey,
  gateways: checkGateways,
  claims: checkClaims,
  maxima: checkMaxima,
};

async function checkVersion({ client }: Primary): Promise<readonly Finding[]> {
  const { isTooOld, encoding, lackOfSchema } = await readSuitability(client);
  if (isTooOld) return [wrong('the server is older than PostgreSQL 14: upgrade it')];
  if (lackOfSchema !== undefined) return [wrong(lackOfSchema)];
  if (encoding === 'UTF8') return [ok('PostgreSQL 14 or newer, encoding UTF8')];
  return [
    wrong(`the encoding of the database is ${encoding}: make one with encoding 'UTF8', and restore a backup there`),
  ];
}

async function checkMigrations({ client }: Primary): Promise<readonly Finding[]> {
  const { applied, pending, newer, refusal } = await readMigrations(client);
  if (refusal !== undefined) return [wrong(refusal)];
  if (newer !== undefined) {
    return [warning(`a newer version has migrated the database (${newer}): upgrade this instance too`)];
  }
  if (applied.length === 0) return [warning('the database has no tables yet: the first start makes them')];
  if (pending.length === 0) return [ok(`all ${KNOWN_MIGRATIONS.length} have run`)];
  return [
    warning(`${pending.length} of ${KNOWN_MIGRATIONS.length} are pending: the next start of this version runs them`),
  ];
}

const GRANT = 'run tunnel-access migrate with MIGRATION_DATABASE_URL (docs/database.md)';

async function checkRights({ client }: Primary, { migrationDatabaseUrl }: Config): Promise<readonly Finding[]> {
  const { role, pending, missing } = await readSchemaState(client);
  if (missing.length > 0) return [wrong(`the role ${role} lacks ${describeRights(missing)}: ${GRANT}`)];
  const { mayMigrate } = await rowOf<{ mayMigrate: boolean }>(
    client,
    `select has_schema_privilege(coalesce(current_schema(), 'public'), 'CREATE') as "mayMigrate"`,
  );
  if (pending.length > 0 && !mayMigrate && migrationDatabaseUrl === undefined) {
    return [wrong(`migrations are pending, and the role ${role} may not run them: ${GRANT}`)];
  }
  return [ok(`the role ${role} has all that it needs`)];
}

/** Compares only a schema with exactly the migrations of this version: checkMigrations tells of any other. */
async function checkSchema({ client }: Primary): Promise<readonly Finding[]> {
  const { applied, pending, newer, refusal } = await readMigrations(client);
  if (applied.length === 0 || pending.length > 0 || newer !== undefined || refusal !== undefined) return [];
  await client.query('begin');
  const { faults, addition } = await compareSchema(client).finally(() => client.query('rollback'));
  const findings = faults.map((fault) => wrong(`${fault}; then run projections prove`));
  if (addition !== undefined) findings.push(warning(addition));
  return findings.length > 0 ? findings : [ok('it is what the migrations make, and nothing was added')];
}

/** Whether the role has no right to change events, so that not only triggers refuse it. A superuser has every right. */
async function checkHistory({ client, isEmbedded }: Primary): Promise<readonly Finding[]> {
  const { role, changes } = await rowOf<{ role: string; changes: boolean | null }>(
    client,
    `select current_user as role, has_table_privilege(to_regclass('events'), 'UPDATE, DELETE, TRUNCATE') as changes`,
  );
  if (changes === null) return [];
  if (!changes) return [ok(`the role ${role} cannot change events`)];
  if (isEmbedded) return [ok('a trigger refuses changes of events')];
  return [
    warning(
      `only a trigger keeps the role ${role} from changing events: let another role own the tables (docs/database.md)`,
    ),
  ];
}

const THIS_MACHINE = new BlockList();
THIS_MACHINE.addSubnet('127.0.0.0', 8);
THIS_MACHINE.addAddress('::1', 'ipv6');

async function checkEncryption({ client }: Primary): Promise<readonly Finding[]> {
  const { stream } = (client as Client & { readonly connection: { readonly stream: unknown } }).connection;
  if ('encrypted' in (stream as object)) return [ok('the connection has TLS')];
  const { remoteAddress = '', remoteFamily } = stream instanceof Socket ? stream : {};
  const isHere = remoteAddress === '' || THIS_MACHINE.check(remoteAddress, remoteFamily === 'IPv6' ? 'ipv6' : 'ipv4');
  if (isHere) return [ok('the connection stays on this machine')];
  return [warning(`the connection to ${remoteAddress} has no TLS: add ?sslmode=verify-full to DATABASE_URL`)];
}

/** Further connections of an instance, for long work such as a proof. */
const FURTHER_CONNECTIONS = 4;

async function checkConnections({ client }: Primary, config: Config): Promise<readonly Finding[]> {
  const { admitted, role_limit } = await rowOf<{ admitted: number; role_limit: number }>(
    client,
    `select current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int as admitted,
       (select rolconnlimit from pg_roles where rolname = current_user) as role_limit`,
  );
  const max = role_limit < 0 ? admitted : Math.min(admitted, role_limit);
  const needed = config.databasePoolSize + config.auditReadConnections + FURTHER_CONNECTIONS;
  const numbers = `an instance opens up to ${needed} connections, and the server admits ${max}`;
  if (needed <= max) return [ok(numbers)];
  return [warning(`${numbers}: lower DATABASE_POOL_SIZE, or raise max_connections`)];
}

async function checkPlans({ client }: Primary): Promise<readonly Finding[]> {
  const defaults = await readRoleDefaults(client);
  const { role, lacking, areSet, maySet } = defaults;
  if (lacking.length === 0) return [ok('connections have the settings that make statements use their indexes')];
  if (!areSet && maySet)
    return [warning(`the role ${role} lacks ${lacking.join(', ')}: the next start sets its defaults`)];
  return [warning(describeLack(defaults))];
}

const MAX_CLOCK_MS = { ok: 2_000, warning: 30_000 };

async function checkClock({ client }: Primary): Promise<readonly Finding[]> {
  const before = Date.now();
  const { now } = await rowOf<{ now: string }>(client, 'select extract(epoch from clock_timestamp()) * 1000 as now');
  const [earliest, latest] = [before - Number(now), Date.now() - Number(now)];
  const differsMs = earliest <= 0 && latest >= 0 ? 0 : Math.min(Math.abs(earliest), Math.abs(latest));
  const text = `the clocks of this machine and of the database differ by ${(differsMs / 1000).toFixed(1)} s`;
  if (differsMs <= MAX_CLOCK_MS.ok) return [ok(text)];
  return [(differsMs > MAX_CLOCK_MS.warning ? wrong : warning)(`${text}: let NTP set both`)];
}

const MIN_FREE_BYTES = { ok: 2 ** 30, warning: 2 ** 27 };

async function checkDisk({ client, isEmbedded }: Primary): Promise<readonly Finding[]> {
  if (!isEmbedded) return [ok('only the server knows how much is free: watch it there')];
  const { folder } = await rowOf<{ folder: string }>(client, `select current_setting('data_directory') as folder`);
  const { bavail, bsize } = await statfs(folder);
  const free = bavail * bsize;
  const text = `${(free / 2 ** 30).toFixed(1)} GiB are free at ${folder}`;
  if (free >= MIN_FREE_BYTES.ok) return [ok(text)];
  return [(free < MIN_FREE_BYTES.warning ? wrong : warning)(`${text}: make room, or move the data (docs/backup.md)`)];
}
