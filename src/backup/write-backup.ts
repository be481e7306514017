import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type { Client } from 'pg';
import { to } from 'pg-copy-streams';
import { DedicatedConnections, type MaintenanceDatabase } from '../database/dedicated-connections.js';
import { appliedMigrations, newerOf, queryableOf } from '../database/schema/migrations.js';
import { OperatorError } from '../operator-error.js';
import { END_OF_ROWS, FORMAT, FORMAT_VERSION, type Header, RowsDigest, type TableLine } from './backup-file.js';
import { copyOut, PLAIN_TEXT, type StoredTable, tablesOf } from './tables.js';

/** Progress of a backup or a restore, table by table. */
export interface BackupWatcher {
  /** `rows`: how many the table has, if that is known. */
  readonly begin: (table: string, rows?: number) => void;
  readonly rows: (count: number) => void;
}

/**
 * Writes everything that the database holds, as of one moment. It needs one connection and the right to SELECT, and takes
 * only the lock that a SELECT takes.
 */
export async function writeBackup(
  database: MaintenanceDatabase,
  output: Writable,
  watcher: BackupWatcher,
): Promise<{ readonly tables: number; readonly rows: number }> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.open();
    const names = (await tablesOf(client)).map(({ name }) => name);
    if (names.length === 0) throw new OperatorError('the database has no tables of the service, so there is no data');
    await connections.begin(client, 'isolation level repeatable read');
    // Before the first query, which takes the snapshot: a table that a migration rewrites later would look empty.
    await client.query(`lock table ${names.join(', ')} in access share mode`);
    await client.query(PLAIN_TEXT);
    const text = new BackupText(client, watcher);
    const { interrupt: signal } = database;
    await pipeline(text.chunks(), createGzip(), output, signal === undefined ? {} : { signal });
    return text.total;
  });
}

/** The text of a backup, read from one snapshot. */
class BackupText {
  readonly total = { tables: 0, rows: 0 };
  private readonly digest = createHash('sha256');

  constructor(
    private readonly client: Client,
    private readonly watcher: BackupWatcher,
  ) {}

  async *chunks(): AsyncGenerator<Buffer> {
    yield this.line(await headerOf(this.client));
    for (const table of await tablesOf(this.client)) yield* this.table(table);
    yield this.line({ end: FORMAT, sha256: this.digest.copy().digest('hex') });
  }

  private async *table(table: StoredTable): AsyncGenerator<Buffer> {
    this.watcher.begin(table.name, table.name === 'events' ? await sizeOfLogs(this.client) : undefined);
    yield this.line({ table: table.name, columns: table.columns } satisfies TableLine);
    const rows = new RowsDigest();
    for await (const chunk of this.client.query(to(copyOut(table))) as AsyncIterable<Buffer>) {
      this.watcher.rows(rows.add(chunk));
      yield this.digested(chunk);
    }
    const end = rows.end();
    this.total.tables += 1;
    this.total.rows += end.rows;
    yield this.digested(Buffer.from(END_OF_ROWS));
    yield this.line(end);
  }

  private line(value: object): Buffer {
    return this.digested(Buffer.from(`${JSON.stringify(value)}\n`));
  }

  private digested(bytes: Buffer): Buffer {
    this.digest.update(bytes);
    return bytes;
  }
}

async function headerOf(client: Client): Promise<Header> {
  const migrations = await appliedMigrations(queryableOf(client));
  const unknown = newerOf(migrations);
  if (unknown !== undefined) {
    throw new OperatorError(
      `a newer version of the service has migrated the database (${unknown}), and may keep data that this version does not know: back it up with that version`,
    );
  }
  return { format: FORMAT, version: FORMAT_VERSION, created_at: new Date().toISOString(), migrations };
}

async function sizeOfLogs(client: Client): Promise<number> {
  const { rows } = await client.query<{ size: string }>('select coalesce(sum(size), 0) as size from log_heads');
  return Number(rows[0]?.size);
}
