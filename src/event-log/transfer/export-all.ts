import { createHash } from 'node:crypto';
import type { Writable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { Client, ClientBase } from 'pg';
import { to } from 'pg-copy-streams';
import {
  DedicatedConnections,
  fetchRows,
  IN_INDEX_ORDER,
  type MaintenanceDatabase,
  readMigrations,
} from '../../database/index.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { type AccountLine, exportQuery, FORMAT, FORMAT_VERSION, RECORDS, recordsQuery } from './log-file.js';

/** Gets the progress of an export, account by account. */
export interface ExportWatcher {
  readonly begin: (account: string, events: number) => void;
  readonly events: (count: number) => void;
}

interface Exported {
  accounts: number;
  events: number;
  /** Accounts whose log has not the length that its head says. The file has the events that are there. */
  readonly damaged: string[];
}

/**
 * Writes all logs and their records in one snapshot. It needs one connection and the right to SELECT, and takes no more
 * locks than a SELECT. It also reads a database of an earlier version, because it does not read the tables of the read
 * models.
 */
export async function exportAll(
  database: MaintenanceDatabase,
  output: Writable,
  watcher: ExportWatcher,
): Promise<Exported> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.open();
    const records = await recordsThere(client);
    await connections.begin(client, 'isolation level repeatable read');
    // Locked before the first query takes the snapshot: a table that a migration rewrites afterwards would look empty.
    await client.query(
      `lock table events, log_heads, ${records.map(({ table }) => table).join(', ')} in access share mode`,
    );
    await client.query(`${PLAIN_TEXT}; ${NO_POLICY}`);
    await client.query(IN_INDEX_ORDER);
    const exported: Exported = { accounts: 0, events: 0, damaged: [] };
    const { interrupt: signal } = database;
    const options = { end: false, ...(signal !== undefined && { signal }) };
    await pipeline(linesOfAll(client, records, exported, watcher), output, options);
    return exported;
  });
}

/** The tables of records that the database has. An earlier version may lack some. */
async function recordsThere(client: Client): Promise<typeof RECORDS> {
  const { newer } = await readMigrations(client);
  if (newer !== undefined) {
    throw new OperatorError(
      `a newer version of the service has migrated the database (${newer}), and may keep data that this version does not know: export it with that version`,
    );
  }
  const { rows } = await client.query<{ name: string }>(TABLES, [['log_heads', ...RECORDS.map(({ table }) => table)]]);
  const there = new Set(rows.map(({ name }) => name));
  if (there.has('log_heads')) return RECORDS.filter(({ table }) => there.has(table)) as unknown as typeof RECORDS;
  throw new OperatorError('the database has no tables of the service, so there is no data');
}

const TABLES = 'select name from unnest($1::text[]) name where to_regclass(name) is not null';

/** Gives every time one spelling, whatever the settings of the server or the role are. */
const PLAIN_TEXT = `set local timezone = 'UTC'; set local extra_float_digits = 1; set local client_encoding = 'UTF8'`;
/** If a policy hides rows, the export fails. */
const NO_POLICY = 'set local row_security = off';

async function* linesOfAll(
  client: Client,
  tables: typeof RECORDS,
  exported: Exported,
  watcher: ExportWatcher,
): AsyncGenerator<Buffer | string> {
  const digest = createHash('sha256');
  for await (const block of blocksOfAll(client, tables, exported, watcher)) {
    digest.update(block);
    yield block;
  }
  yield line({ end: FORMAT, sha256: digest.digest('hex') });
}

async function* blocksOfAll(
  client: Client,
  tables: typeof RECORDS,
  exported: Exported,
  watcher: ExportWatcher,
): AsyncGenerator<Buffer | string> {
  yield line({ format: FORMAT, version: FORMAT_VERSION });
  for await (const { account_id: id, events, size } of accountsOf(client, tables)) {
    watcher.begin(id, events);
    yield line({ account_id: id, events } satisfies AccountLine);
    for (const table of tables) yield* copied(client, recordsQuery(id, table));
    yield* exportLog(client, id, {}, watcher.events);
    exported.accounts += id === '' ? 0 : 1;
    exported.events += events;
    if (size !== events) exported.damaged.push(id);
  }
}

const line = (value: object): string => `${JSON.stringify(value)}\n`;

/** An account, the number of its events, and how many its head says there are. */
type ExportedAccount = AccountLine & { readonly size: number };

/** All accounts, in the order of their ids. Records of no account come first. A damaged log may have no head. */
async function* accountsOf(client: Client, tables: typeof RECORDS): AsyncGenerator<ExportedAccount> {
  const names = ['log_heads', 'events', ...tables.map(({ table }) => table)];
  const all = names.map((name) => `select account_id from ${name}`).join(' union ');
  const text = `select account_id, (select count(*) from events e where e.account_id = a.account_id)::float8 as events,
      coalesce((select size from log_heads h where h.account_id = a.account_id), 0)::float8 as size
    from (${all}) a where account_id <> '' order by account_id`;
  yield { account_id: '', events: 0, size: 0 };
  for await (const accounts of fetchRows<ExportedAccount>(client, text, [])) yield* accounts;
}

const copied = (client: ClientBase, query: string): AsyncIterable<Buffer> => client.query(to(query));

/** Yields the lines of a log, or of a part of it. `onEvents` gets the number of events in each block. */
export async function* exportLog(
  client: ClientBase,
  account: string,
  part: { readonly after?: number; readonly upTo?: number },
  onEvents: (count: number) => void,
): AsyncGenerator<Buffer> {
  for await (const block of copied(client, exportQuery(account, part))) {
    onEvents(countLines(block));
    yield block;
  }
}

const LINE_FEED = 0x0a;

/** The number of lines that end in these bytes. */
function countLines(bytes: Buffer): number {
  let lines = 0;
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) lines += 1;
  return lines;
}
