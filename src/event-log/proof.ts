import type { Client } from 'pg';
import { OwnConnections, snapshotOf, type WorkPlace } from '../database/own-connections.js';
import { Compared, type Difference } from './compared.js';
import { liveRows, replayedRows } from './proof-rows.js';
import { type AnyReadModel, hiddenFieldsOf, type Table } from './read-model.js';
import { estimatedEvents, isOfModel, quoted, ReplayError } from './replay.js';
import { RowPrinter } from './row-printer.js';

export type { Difference };

export interface Proof {
  readonly events: number;
  readonly rows: number;
  readonly differences: number;
}

export interface ProofWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  /** A table is compared next; `events` is about how many of them make its rows. */
  readonly begin: (table: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly difference: (difference: Difference) => void;
}

/**
 * Holds the live rows against the fold of the log, all as of one moment: events, heads and rows change together, so
 * they agree at any moment, also under load. Throws ReplayError when the log itself cannot be folded.
 */
export async function prove(
  place: WorkPlace,
  { all, proven }: { readonly all: readonly AnyReadModel[]; readonly proven: readonly AnyReadModel[] },
  watcher: ProofWatcher,
): Promise<Proof> {
  return OwnConnections.use(place, async (connections) => {
    const client = await connections.openSnapshot();
    // Before the moment is fixed, and until the end: a rebuild that swapped a table in between would show us an empty one.
    const tables = proven.flatMap((model) => model.tables.map(({ name }) => name));
    await client.query(`lock table ${tables.join(', ')} in access share mode`);
    const snapshot = await snapshotOf(client);
    await refuseUnknownStreams(client, all, watcher.account);
    const total = { events: 0, rows: 0, differences: await compareHeads(client, watcher) };
    for (const model of proven) {
      for (const table of model.tables) {
        const other = await connections.openSnapshot(snapshot);
        const compared = await proveTable({ client, other }, model, table, watcher);
        await other.end();
        total.events += table === model.tables[0] ? compared.events : 0;
        total.rows += compared.rows;
        total.differences += compared.differences;
      }
    }
    return total;
  });
}

async function proveTable(
  { client, other }: { client: Client; other: Client },
  model: AnyReadModel,
  table: Table<unknown>,
  watcher: ProofWatcher,
): Promise<{ events: number; rows: number; differences: number }> {
  watcher.begin(table.name, await estimatedEvents(client, model, watcher.account));
  const printer = await RowPrinter.of(client, table);
  let events = 0;
  const onEvents = (count: number): void => {
    events += count;
    watcher.events(count);
  };
  const compared = new Compared(printer, hiddenFieldsOf(model), watcher.difference);
  await compared.run(
    liveRows(other, table, watcher.account),
    replayedRows(client, model, printer, watcher.account, onEvents),
  );
  return { events, rows: compared.rows, differences: compared.differences };
}

/** Events of streams that no read model knows are no difference that a rebuild could mend. */
async function refuseUnknownStreams(client: Client, models: readonly AnyReadModel[], account: string | undefined) {
  const ofAccount = account === undefined ? '' : ` and e.account_id = ${quoted(account)}`;
  const { rows } = await client.query<{ account_id: string; stream_id: string }>(
    `select e.account_id, e.stream_id from events e where not (${models.map(isOfModel).join(' or ')})${ofAccount} limit 1`,
  );
  const [found] = rows;
  if (found === undefined) return;
  throw new ReplayError(
    `account ${found.account_id}: no read model of this version knows streams like ${found.stream_id}`,
  );
}

/** $1: the account, or null for all. */
const HEADS = `
  select account_id, coalesce(h.size, 0)::text as size, coalesce(e.events, 0)::text as events, coalesce(e.newest, 0)::text as newest
  from (select account_id, size from log_heads where $1::text is null or account_id = $1) h
  full join (select account_id, count(*) as events, max(position) as newest from events
    where $1::text is null or account_id = $1 group by account_id) e using (account_id)
  where h.size is distinct from e.events or h.size is distinct from e.newest`;

async function compareHeads(client: Client, { account, difference }: ProofWatcher): Promise<number> {
  const { rows } = await client.query<Record<'account_id' | 'size' | 'events' | 'newest', string>>(HEADS, [
    account ?? null,
  ]);
  for (const { account_id, size, events, newest } of rows) {
    const log = `${events} events, newest ${newest}`;
    difference({ table: 'log_heads', account: account_id, key: account_id, field: 'size', live: size, log });
  }
  return rows.length;
}
