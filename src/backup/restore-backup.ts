import { type Client, DatabaseError } from 'pg';
import { to } from 'pg-copy-streams';
import { DataSource } from 'typeorm';
import { MIGRATIONS } from '../../migrations/all.js';
import { copyIn } from '../database/copy/copy-in.js';
import { dropPlainIndexes } from '../database/copy/plain-indexes.js';
import type { Database } from '../database/database.js';
import { DedicatedConnections, type MaintenanceDatabase } from '../database/dedicated-connections.js';
import { migrate, requireSameDatabase } from '../database/migrate.js';
import { appliedMigrations, queryableOf } from '../database/schema/migrations.js';
import { OperatorError } from '../operator-error.js';
import { BackupFileError, countLines, RowsDigest, type RowsLine, type TableLine, tapped } from './backup-file.js';
import type { BackupReader } from './read-backup.js';
import { copyOut, PLAIN_TEXT, quoted, type StoredTable, tablesOf } from './tables.js';
import type { BackupWatcher } from './write-backup.js';

type RestoreDatabase = MaintenanceDatabase & Pick<Database, 'pool' | 'asOwner' | 'hasOwner'>;

/**
 * Writes a backup into a database without accounts, in one transaction: it commits after the file was read to its end and
 * every table was read back. Before it the migrations of the file run, after it the later ones.
 */
export async function restoreBackup(
  database: RestoreDatabase,
  backup: BackupReader,
  watcher: BackupWatcher,
): Promise<ReadonlyMap<string, RowsLine>> {
  await requireSameDatabase(database);
  const restored = await asOwner(database, async (owner) => {
    await refuseUsed(owner, backup, ownSessions(database));
    // Under the lock of migrations, for which an instance that starts meanwhile waits.
    return migrateUpTo(owner, backup, () => load(owner, backup, watcher));
  });
  // Also gives the service's role its rights.
  await migrate(database, () => Promise.resolve());
  await asOwner(database, analyze);
  return restored;
}

/** Only the owner of the tables may make them, and switch off their triggers. */
const asOwner = <T>(
  { asOwner, interrupt }: RestoreDatabase,
  work: (owner: MaintenanceDatabase) => Promise<T>,
): Promise<T> => asOwner((dataSource) => work({ dataSource, ...(interrupt !== undefined && { interrupt }) }));

/** Connections that this command has when it looks for others: its pool's, the owner's and the one that looks. */
const ownSessions = ({ pool, hasOwner }: RestoreDatabase): number => pool.totalCount + (hasOwner ? 1 : 0) + 1;

/** Until autovacuum has come by, plans would be those of empty tables. */
async function analyze(owner: MaintenanceDatabase): Promise<void> {
  await DedicatedConnections.use(owner, async (connections) => {
    const client = await connections.open();
    for (const { name } of await tablesOf(client)) await client.query(`analyze ${name}`);
  });
}

async function migrateUpTo<T>(
  { dataSource }: MaintenanceDatabase,
  { header }: BackupReader,
  afterwards: () => Promise<T>,
): Promise<T> {
  const migrations = MIGRATIONS.filter(({ name }) => header.migrations.includes(name));
  const upTo = await new DataSource({ ...dataSource.options, migrations }).initialize();
  try {
    return await migrate({ dataSource: upTo, hasOwner: false, asOwner: (work) => work(upTo) }, afterwards);
  } finally {
    await upTo.destroy();
  }
}

async function refuseUsed(owner: MaintenanceDatabase, { header }: BackupReader, sessions: number): Promise<void> {
  await DedicatedConnections.use(owner, async (connections) => {
    const client = await connections.open();
    const later = (await appliedMigrations(queryableOf(client))).filter((name) => !header.migrations.includes(name));
    await refuseRows(client);
    if (later.length > 0) {
      throw new OperatorError(
        `the tables of the database are newer than the backup (${later[0]}): restore it into an empty database, whose tables the restore makes`,
      );
    }
    await refuseOtherSessions(client, sessions);
  });
}

/** Sees an instance that has a connection at this moment. One that has none has an account, so there are rows. */
async function refuseOtherSessions(client: Client, own: number): Promise<void> {
  const { rows } = await client.query<{ sessions: number }>(
    `select count(*)::int as sessions from pg_stat_activity
     where datname = current_database() and application_name = 'tunnel-access'`,
  );
  if (Number(rows[0]?.sessions) <= own) return;
  throw new OperatorError(
    'an instance of the service, or a command of it, is connected to the database: stop it first (behind a pooler, connect to the server itself)',
  );
}

async function refuseRows(client: Client): Promise<void> {
  for (const { name } of await tablesOf(client)) {
    const { rows } = await client.query<{ used: boolean }>(`select exists (select from ${name}) as used`);
    if (rows[0]?.used !== true) continue;
    throw new OperatorError(
      `the database is not empty (there are rows in ${name}): restore into a new database, or into an empty DATA_DIR`,
    );
  }
}

/** All or nothing: until the commit at its end, no other connection sees a row. */
async function load(
  database: MaintenanceDatabase,
  backup: BackupReader,
  watcher: BackupWatcher,
): Promise<ReadonlyMap<string, RowsLine>> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    await client.query(PLAIN_TEXT);
    // Again, now under the lock: of two restores at once, the second one finds rows.
    await refuseRows(client);
    const tables = new Map((await tablesOf(client)).map((table) => [table.name, table]));
    const written = await backup.readInto({
      table: (line, rows) => loadTable(client, tables.get(line.table), line, rows, watcher),
    });
    for (const table of tables.values()) await compare(client, table, written.get(table.name), watcher);
    await connections.commit(client);
    return written;
  });
}

async function loadTable(
  client: Client,
  table: StoredTable | undefined,
  { table: name, columns }: TableLine,
  rows: AsyncIterable<Buffer>,
  watcher: BackupWatcher,
): Promise<void> {
  if (table === undefined || table.columns.join() !== columns.join()) {
    throw new BackupFileError(`the backup has a table ${name} that its migrations do not make; use another backup`);
  }
  watcher.begin(name);
  const triggers = await triggersOf(client, name);
  for (const { disable } of triggers) await client.query(disable);
  const indexes = await dropPlainIndexes(client, name);
  try {
    const counted = tapped(rows, (block) => watcher.rows(countLines(block)));
    await copyIn(client, `${name} (${quoted(columns)})`, counted);
  } catch (error) {
    if (error instanceof DatabaseError && /^2[23]/.test(error.code ?? '')) throw unfitting(name, error);
    throw error;
  }
  for (const create of indexes) await client.query(create);
  for (const { enable } of triggers) await client.query(enable);
}

/** Leaves out the server's message, which may show a value, such as the hash of a key. */
const unfitting = (table: string, { code, constraint }: DatabaseError): BackupFileError =>
  new BackupFileError(
    `the database refuses rows of ${table} (${constraint ?? `SQLSTATE ${code}`}); use another backup`,
  );

/**
 * A trigger has done its work when the rows were first written. It would refuse rows of owners that were deleted since,
 * and repeat work that other tables of the backup hold. Only the triggers that are on are switched off and on again.
 */
async function triggersOf(client: Client, table: string): Promise<readonly { disable: string; enable: string }[]> {
  const { rows } = await client.query<{ disable: string; enable: string }>(
    `select format('alter table %s disable trigger %I', $1::text, tgname) as disable,
      format('alter table %s enable trigger %I', $1::text, tgname) as enable
     from pg_trigger where tgrelid = to_regclass($1) and not tgisinternal and tgenabled = 'O'`,
    [table],
  );
  return rows;
}

/** Reads the table back: its rows are those of the backup, byte for byte. */
async function compare(
  client: Client,
  table: StoredTable,
  written: RowsLine | undefined,
  watcher: BackupWatcher,
): Promise<void> {
  if (written === undefined) throw new BackupFileError(`the backup lacks the table ${table.name}; use another backup`);
  watcher.begin(`compare ${table.name}`, written.rows);
  const digest = new RowsDigest();
  for await (const chunk of client.query(to(copyOut(table))) as AsyncIterable<Buffer>) watcher.rows(digest.add(chunk));
  const { rows, sha256 } = digest.end();
  if (rows === written.rows && sha256 === written.sha256) return;
  throw new OperatorError(
    `${table.name} holds ${rows} rows that are not the ${written.rows} rows of the backup; nothing was kept`,
  );
}
