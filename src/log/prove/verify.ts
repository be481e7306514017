import type { Client } from 'pg';
import {
  DedicatedConnections,
  exportSnapshot,
  type MaintenanceDatabase,
} from '../../database/dedicated-connections.js';

/** Something in a log that cannot be there if nobody but the service wrote to it. */
export interface Fault {
  readonly account: string;
  /** What is wrong, with its place: a position or a stream. */
  readonly what: string;
}

export interface VerifyWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  readonly begin: (account: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly fault: (fault: Fault) => void;
}

const POSITIONS_AT_ONCE = 10_000;
/** Of one kind in one stretch of the log; a lost table would name every position. */
const MOST_NAMED = 10;

/** PostgreSQL computes the hashes, on a core for each connection; more would leave too little to a running service. */
const CONNECTIONS = 2;

/**
 * Checks each log by itself, as of one moment: positions 1, 2, 3 ... up to the head and none beyond, every stream's
 * versions without a gap, every leaf hash the hash of its event. Answers with the number of events.
 */
export async function verify(
  place: MaintenanceDatabase,
  watcher: VerifyWatcher,
): Promise<{ accounts: number; events: number }> {
  return DedicatedConnections.use(place, async (connections) => {
    const clients = await sameMoment(connections);
    const [client] = clients;
    const { rows } = await client.query<{ account_id: string; size: string }>(ACCOUNTS, [watcher.account ?? null]);
    let events = 0;
    for (const { account_id: account, size } of rows) {
      watcher.begin(account, Number(size));
      events += await verifyAccount(clients, account, Number(size), watcher);
    }
    return { accounts: rows.length, events };
  });
}

type Clients = readonly [Client, ...Client[]];

async function sameMoment(connections: DedicatedConnections): Promise<Clients> {
  const first = await connections.openSnapshot();
  const snapshot = await exportSnapshot(first);
  const clients: [Client, ...Client[]] = [first];
  while (clients.length < CONNECTIONS) clients.push(await connections.openSnapshot(snapshot));
  // The order of positions makes PostgreSQL read each page once.
  for (const client of clients) await client.query('set local enable_hashagg = off');
  return clients;
}

/** $1: the account, or null for all; a log whose head is lost has size 0. */
const ACCOUNTS = `select coalesce(h.account_id, e.account_id) as account_id, coalesce(h.size, 0) as size
  from log_heads h full join (select distinct account_id from events) e using (account_id)
  where $1::text is null or coalesce(h.account_id, e.account_id) = $1 order by 1`;

async function verifyAccount(clients: Clients, account: string, size: number, watcher: VerifyWatcher): Promise<number> {
  const [client] = clients;
  const fault = (what: string): void => watcher.fault({ account, what });
  let events = 0;
  for await (const { found, wrong, missing } of stretches(clients, account, size)) {
    events += found;
    name(fault, (position) => `position ${position}: the leaf hash is not that of the event`, wrong);
    name(fault, (position) => `position ${position}: missing`, missing);
    watcher.events(found);
  }
  const beyond = await texts(client, BEYOND, [account, size]);
  name(fault, (position) => `position ${position}: outside the log, whose head is at ${size}`, beyond);
  name(
    fault,
    (stream) => `stream ${stream}: its versions are not 1, 2, 3 ... without a gap`,
    await texts(client, GAPS, [account]),
  );
  return events + beyond.length;
}

interface Stretch {
  readonly found: number;
  /** Positions. */
  readonly wrong: readonly string[];
  readonly missing: readonly string[];
}

/** In their order, while each connection is at one of them. */
async function* stretches(clients: Clients, account: string, size: number): AsyncGenerator<Stretch> {
  const underWay: Promise<Stretch>[] = [];
  for (let after = 0, n = 0; after < size; after += POSITIONS_AT_ONCE, n += 1) {
    const first = underWay.length === clients.length ? underWay.shift() : undefined;
    if (first !== undefined) yield await first;
    // The client whose stretch was the oldest.
    const checking = check(
      clients[n % clients.length] ?? clients[0],
      account,
      after,
      Math.min(after + POSITIONS_AT_ONCE, size),
    );
    // Its failure is thrown where it is awaited.
    checking.catch(() => undefined);
    underWay.push(checking);
  }
  yield* underWay;
}

async function check(client: Client, account: string, after: number, upTo: number): Promise<Stretch> {
  const { rows } = await client.query<{ events: number; wrong: string[] | null }>(STRETCH, [account, after, upTo]);
  const found = rows[0]?.events ?? 0;
  const missing = found < upTo - after ? await texts(client, MISSING, [account, after, upTo]) : [];
  return { found, wrong: rows[0]?.wrong ?? [], missing };
}

function name(fault: (what: string) => void, sentence: (place: string) => string, places: readonly string[]): void {
  for (const place of places.slice(0, MOST_NAMED)) fault(sentence(place));
  if (places.length > MOST_NAMED) fault(`and ${places.length - MOST_NAMED} more like ${sentence(places.at(-1) ?? '')}`);
}

async function texts(client: Client, query: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(query, [...values]);
  return rows.map(({ text }) => text);
}

const STRETCH = `select count(*)::int as events, array_agg(position::text order by position) filter (where leaf_hash is distinct from
    event_leaf_hash(account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at)) as wrong
  from events where account_id = $1 and position > $2 and position <= $3`;
const MISSING = `select p::text as text from generate_series($2::bigint + 1, $3::bigint) p
  where not exists (select from events where account_id = $1 and position = p) order by p`;
const BEYOND = `select position::text as text from events
  where account_id = $1 and (position > $2 or position < 1) order by position`;
const GAPS = `select stream_id as text from events where account_id = $1
  group by stream_id having min(stream_version) <> 1 or max(stream_version) <> count(*) order by stream_id`;
