import type { Client } from 'pg';
import {
  DedicatedConnections,
  exportSnapshot,
  type MaintenanceDatabase,
} from '../../database/dedicated-connections.js';
import { FaultReport } from '../checks/fault-report.js';
import { streamFaults, timeFaults } from '../checks/stream-checks.js';
import { type AnyReadModel, hiddenFieldsOf } from '../read-model.js';
import { estimatedEvents, eventsOf, IN_INDEX_ORDER, isOfModel, ReplayError, replay } from '../replay/replay.js';
import { sendRows } from '../replay/send-rows.js';
import { type Difference, TableDiff } from './table-diff.js';

export interface Proof {
  readonly events: number;
  readonly rows: number;
  readonly differences: number;
}

export interface ProofWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** The tables of a read model are compared next; `events` estimates how many events make their rows. */
  readonly begin: (tables: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly difference: (difference: Difference) => void;
}

/**
 * Compares the live rows with the fold of the log in one snapshot. Events, heads and rows change in one transaction, so
 * they agree in every snapshot, also under load. Throws ReplayError if the log cannot be folded.
 */
export async function prove(
  database: MaintenanceDatabase,
  { all, proven }: { readonly all: readonly AnyReadModel[]; readonly proven: readonly AnyReadModel[] },
  watcher: ProofWatcher,
): Promise<Proof> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openSnapshot();
    // Lock before the snapshot, until the end: a table that a rebuild swapped in later would look empty.
    const tables = proven.flatMap((model) => model.tables.map(({ name }) => name));
    await client.query(`lock table ${tables.join(', ')} in access share mode`);
    const snapshot = await exportSnapshot(client);
    // In parallel, since the comparison of the logs makes PostgreSQL read a whole index.
    const [logDifferences, models] = await Promise.all([
      checkLogs(await connections.openSnapshot(snapshot), all, watcher),
      proveModels({ connections, client, snapshot }, proven, watcher),
    ]);
    return { ...models, differences: logDifferences + models.differences };
  });
}

interface SharedSnapshot {
  readonly connections: DedicatedConnections;
  readonly client: Client;
  readonly snapshot: string;
}

async function proveModels(
  shared: SharedSnapshot,
  models: readonly AnyReadModel[],
  watcher: ProofWatcher,
): Promise<Proof> {
  const total = { events: 0, rows: 0, differences: 0 };
  for (const model of models) {
    const part = await proveModel(shared, model, watcher);
    total.events += part.events;
    total.rows += part.rows;
    total.differences += part.differences;
  }
  return total;
}

/** Replays a read model once for all of its tables. */
async function proveModel(
  { connections, client, snapshot }: SharedSnapshot,
  model: AnyReadModel,
  watcher: ProofWatcher,
): Promise<Proof> {
  const names = model.tables.map(({ name }) => name).join(', ');
  watcher.begin(names, await estimatedEvents(client, model, watcher.account));
  const hidden = hiddenFieldsOf(model);
  const report = (one: Difference): void =>
    watcher.difference(hidden.has(one.field) ? { ...one, live: '(hidden)', log: '(hidden)' } : one);
  const reader = await connections.openSnapshot(snapshot);
  const tables: TableDiff[] = [];
  for (const table of model.tables) tables.push(await TableDiff.of(reader, table, watcher.account, report));
  let events = 0;
  const onEvents = (count: number): void => {
    events += count;
    watcher.events(count);
  };
  await client.query(IN_INDEX_ORDER);
  await reader.query(MERGE_BY_INDEX);
  const replayed = replay(client, model, eventsOf(model, watcher.account), { onEvents });
  await sendRows(replayed, tables);
  await reader.end();
  return { events, rows: sum(tables, 'rows'), differences: sum(tables, 'differences') };
}

/**
 * PostgreSQL expects many rows in a range that holds a thousand: it would sort them, or hash them into files on disk. One
 * time zone makes every printed time the same text.
 */
const MERGE_BY_INDEX = `set local enable_sort = off; set local enable_incremental_sort = off;
  set local enable_hashjoin = off; set local timezone = 'UTC'`;

const sum = (tables: readonly TableDiff[], count: 'rows' | 'differences'): number =>
  tables.reduce((total, table) => total + table[count], 0);

/** Selects accounts whose head is not the end of their log, or with an unknown stream. $1: account or null. */
const inconsistentLogs = (models: readonly AnyReadModel[]): string => `
  select logs.account_id, logs.size::text, logs.events::text, last.newest::text, logs.unknown
  from (
    select account_id, coalesce(h.size, 0) as size, coalesce(e.events, 0) as events, e.unknown
    from (select account_id, size from log_heads where $1::text is null or account_id = $1) h
    full join (select e.account_id, count(*) as events, min(e.stream_id) filter (where not (${models.map(isOfModel).join(' or ')})) as unknown
      from events e where $1::text is null or e.account_id = $1 group by e.account_id) e using (account_id)) logs
  cross join lateral (select coalesce(max(e.position), 0) as newest from events e where e.account_id = logs.account_id) last
  where logs.size <> logs.events or logs.size <> last.newest or logs.unknown is not null`;

type InconsistentLog = Readonly<Record<'account_id' | 'size' | 'events' | 'newest', string>> & {
  readonly unknown: string | null;
};

/** The checks of `audit verify` that concern the rows, as far as PostgreSQL makes them while the events are folded here. */
async function checkLogs(client: Client, models: readonly AnyReadModel[], watcher: ProofWatcher): Promise<number> {
  let differences = await compareLogs(client, models, watcher);
  const { rows } = await client.query<{ account: string }>(ACCOUNTS, [watcher.account ?? null]);
  for (const { account } of rows) {
    const report = new FaultReport((what) => {
      differences += 1;
      watcher.difference({ table: 'events', account, key: account, field: '(event)', live: what, log: 'audit verify' });
    });
    for await (const { position, what } of streamFaults(client, models, account))
      report.add('stream', { position }, what);
    for await (const { position, what } of timeFaults(client, account)) report.add('time', { position }, what);
    report.end();
  }
  await client.end();
  return differences;
}

const ACCOUNTS =
  'select account_id as account from log_heads where $1::text is null or account_id = $1 order by account_id';

/** Throws for a stream without a read model: a rebuild could not correct that, so it is not a difference. */
async function compareLogs(client: Client, models: readonly AnyReadModel[], watcher: ProofWatcher): Promise<number> {
  const { rows } = await client.query<InconsistentLog>(inconsistentLogs(models), [watcher.account ?? null]);
  for (const { account_id, unknown } of rows) {
    if (unknown === null) continue;
    throw new ReplayError(`account ${account_id}: no read model of this version has streams like ${unknown}`);
  }
  for (const { account_id, size, events, newest } of rows) {
    const log = `${events} events, newest ${newest}`;
    watcher.difference({ table: 'log_heads', account: account_id, key: account_id, field: 'size', live: size, log });
  }
  return rows.length;
}
