import type { Client } from 'pg';
import { type CopiedRows, copyOut } from '../../database/copy-out.js';
import {
  DedicatedConnections,
  exportSnapshot,
  type MaintenanceDatabase,
} from '../../database/dedicated-connections.js';
import { type AnyReadModel, hiddenFieldsOf, type Table } from '../read-model.js';
import {
  estimatedEvents,
  eventsOf,
  IN_INDEX_ORDER,
  isOfModel,
  ReplayError,
  replay,
  sqlLiteral,
} from '../replay/replay.js';
import { encodersOf } from '../replay/row-encoder.js';
import { type Difference, TableDiff } from './table-diff.js';

export type { Difference };

export interface Proof {
  readonly events: number;
  readonly rows: number;
  readonly differences: number;
}

export interface ProofWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** The tables of a read model are compared next; `events` is about how many of them make their rows. */
  readonly begin: (tables: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly difference: (difference: Difference) => void;
}

/**
 * Holds the live rows against the fold of the log, all as of one moment: events, heads and rows change together, so
 * they agree at any moment, also under load. Throws ReplayError when the log itself cannot be folded.
 */
export async function prove(
  place: MaintenanceDatabase,
  { all, proven }: { readonly all: readonly AnyReadModel[]; readonly proven: readonly AnyReadModel[] },
  watcher: ProofWatcher,
): Promise<Proof> {
  return DedicatedConnections.use(place, async (connections) => {
    const client = await connections.openSnapshot();
    // Before the moment is fixed, and until the end: a rebuild that swapped a table in between would show us an empty one.
    const tables = proven.flatMap((model) => model.tables.map(({ name }) => name));
    await client.query(`lock table ${tables.join(', ')} in access share mode`);
    const snapshot = await exportSnapshot(client);
    // The logs beside the read models, since PostgreSQL reads a whole index for them.
    const [odd, parts] = await Promise.all([
      compareLogs(await connections.openSnapshot(snapshot), all, watcher),
      proveModels({ connections, client, snapshot }, proven, watcher),
    ]);
    return { ...parts, differences: odd + parts.differences };
  });
}

interface Moment {
  readonly connections: DedicatedConnections;
  readonly client: Client;
  readonly snapshot: string;
}

async function proveModels(moment: Moment, models: readonly AnyReadModel[], watcher: ProofWatcher): Promise<Proof> {
  const total = { events: 0, rows: 0, differences: 0 };
  for (const model of models) {
    const part = await proveModel(moment, model, watcher);
    total.events += part.events;
    total.rows += part.rows;
    total.differences += part.differences;
  }
  return total;
}

/** One replay for all tables of a read model, each read on a connection of its own. */
async function proveModel(
  { connections, client, snapshot }: Moment,
  model: AnyReadModel,
  watcher: ProofWatcher,
): Promise<Proof> {
  const names = model.tables.map(({ name }) => name).join(', ');
  watcher.begin(names, await estimatedEvents(client, model, watcher.account));
  const others: Client[] = [];
  const tables: TableDiff[] = [];
  for (const encoder of await encodersOf(client, model)) {
    const other = await connections.openSnapshot(snapshot);
    const live = liveRows(other, encoder.table, watcher.account);
    tables.push(new TableDiff(encoder, live, hiddenFieldsOf(model), watcher.difference));
    others.push(other);
  }
  let events = 0;
  const onEvents = (count: number): void => {
    events += count;
    watcher.events(count);
  };
  await client.query(IN_INDEX_ORDER);
  for await (const streams of replay(client, model, eventsOf(model, watcher.account), onEvents)) {
    for (const table of tables) await table.take(streams);
  }
  for (const table of tables) await table.end();
  for (const other of others) await other.end();
  return { events, rows: sum(tables, 'rows'), differences: sum(tables, 'differences') };
}

const sum = (tables: readonly TableDiff[], what: 'rows' | 'differences'): number =>
  tables.reduce((total, table) => total + table[what], 0);

/** In the order of the primary key. */
async function* liveRows(
  client: Client,
  { name, columns, primaryKey }: Table<unknown>,
  account: string | undefined,
): AsyncGenerator<CopiedRows> {
  await client.query(IN_INDEX_ORDER);
  const ofAccount = account === undefined ? '' : ` where t.account_id = ${sqlLiteral(account)}`;
  const values = columns.map((column) => `t.${column}`).join(', ');
  yield* copyOut(client, `select ${values} from ${name} t${ofAccount} order by ${primaryKey.join(', ')}`);
}

/**
 * The accounts whose head is not where their log ends, or that have a stream which no read model knows.
 * $1: the account, or null for all.
 */
const oddLogs = (models: readonly AnyReadModel[]): string => `
  select logs.account_id, logs.size::text, logs.events::text, last.newest::text, logs.unknown
  from (
    select account_id, coalesce(h.size, 0) as size, coalesce(e.events, 0) as events, e.unknown
    from (select account_id, size from log_heads where $1::text is null or account_id = $1) h
    full join (select e.account_id, count(*) as events, min(e.stream_id) filter (where not (${models.map(isOfModel).join(' or ')})) as unknown
      from events e where $1::text is null or e.account_id = $1 group by e.account_id) e using (account_id)) logs
  cross join lateral (select coalesce(max(e.position), 0) as newest from events e where e.account_id = logs.account_id) last
  where logs.size <> logs.events or logs.size <> last.newest or logs.unknown is not null`;

type OddLog = Readonly<Record<'account_id' | 'size' | 'events' | 'newest', string>> & {
  readonly unknown: string | null;
};

/** Events of streams that no read model knows are no difference that a rebuild could mend. */
async function compareLogs(client: Client, models: readonly AnyReadModel[], watcher: ProofWatcher): Promise<number> {
  const { rows } = await client.query<OddLog>(oddLogs(models), [watcher.account ?? null]);
  await client.end();
  for (const { account_id, unknown } of rows) {
    if (unknown === null) continue;
    throw new ReplayError(`account ${account_id}: no read model of this version knows streams like ${unknown}`);
  }
  for (const { account_id, size, events, newest } of rows) {
    const log = `${events} events, newest ${newest}`;
    watcher.difference({ table: 'log_heads', account: account_id, key: account_id, field: 'size', live: size, log });
  }
  return rows.length;
}
