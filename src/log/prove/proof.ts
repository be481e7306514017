import type { Client } from 'pg';
import {
  DedicatedConnections,
  exportSnapshot,
  type MaintenanceDatabase,
} from '../../database/dedicated-connections.js';
import { checkLogs, type VerifyWatcher } from '../checks/verify.js';
import { claimDifferences } from '../claims/held-claims.js';
import { type AnyReadModel, hiddenFieldsOf } from '../read-model.js';
import { estimatedEvents, eventsOf, IN_INDEX_ORDER, ReplayError, replay } from '../replay/replay.js';
import { sendRows } from '../replay/send-rows.js';
import { type Digests, digestsOf } from './digests.js';
import { type Difference, TableDiff } from './table-diff.js';

export interface Proof {
  readonly events: number;
  readonly rows: number;
  /** With the faults of the logs. */
  readonly differences: number;
  /** How long it took to fold the events and to compare the rows, after the checks of the logs. */
  readonly comparedMs: number;
}

export interface ProofWatcher extends Pick<VerifyWatcher, 'account' | 'keysOf' | 'events' | 'fault'> {
  /** The log of an account is checked next, or the tables of a read model are compared with an estimate of events. */
  readonly begin: (what: string, events: number) => void;
  readonly difference: (difference: Difference) => void;
  /** Absent: no digests are made. */
  readonly digests?: (digests: Digests) => void;
}

/**
 * Checks the logs as `verify` does, and compares the live rows with the fold of the logs, in one snapshot. Events, heads
 * and rows change in one transaction, so they agree in every snapshot, also under load.
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
    let faults = 0;
    const fault: ProofWatcher['fault'] = (one) => {
      faults += 1;
      watcher.fault(one);
    };
    const begin = (account: string, events: number): void => watcher.begin(`the log of ${account}`, events);
    await checkLogs(connections, all, { ...watcher, begin, fault }, snapshot);
    const start = performance.now();
    const rows = await proveModels({ connections, client, snapshot }, proven, { ...watcher, fault });
    const comparedMs = performance.now() - start;
    watcher.digests?.(await digestsOf(client, proven, watcher.account));
    return { ...rows, differences: rows.differences + faults, comparedMs };
  });
}

interface SharedSnapshot {
  readonly connections: DedicatedConnections;
  readonly client: Client;
  readonly snapshot: string;
}

type Compared = Omit<Proof, 'comparedMs'>;

async function proveModels(
  shared: SharedSnapshot,
  models: readonly AnyReadModel[],
  watcher: ProofWatcher,
): Promise<Compared> {
  const total = { events: 0, rows: 0, differences: 0 };
  try {
    for (const model of models) {
      const part = await proveModel(shared, model, watcher);
      total.events += part.events;
      total.rows += part.rows;
      total.differences += part.differences;
    }
    // Where a row is wrong, the claims that it makes tell nothing.
    if (total.differences === 0) total.differences += await proveClaims(shared, models, watcher);
  } catch (error) {
    if (!(error instanceof ReplayError)) throw error;
    watcher.fault({ account: watcher.account, what: `${error.message}; from there on no rows were compared` });
  }
  return total;
}

/** Compares the claims with the rows, which are those of the log. */
async function proveClaims(
  { connections, snapshot }: SharedSnapshot,
  models: readonly AnyReadModel[],
  watcher: ProofWatcher,
): Promise<number> {
  const reader = await connections.openSnapshot(snapshot);
  let differences = 0;
  for await (const found of claimDifferences(reader, models, watcher.account)) {
    differences += found.length;
    for (const difference of found) watcher.difference(difference);
  }
  await connections.release(reader);
  return differences;
}

/** Replays a read model once for all of its tables. */
async function proveModel(
  { connections, client, snapshot }: SharedSnapshot,
  model: AnyReadModel,
  watcher: ProofWatcher,
): Promise<Compared> {
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
  await connections.release(reader);
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
