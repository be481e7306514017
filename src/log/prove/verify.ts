import type { Client } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';

/** An inconsistency of a log, which arises only if another program than the service wrote to it. */
interface Fault {
  readonly account: string;
  /** The fault in words, with its position or stream. */
  readonly what: string;
}

interface VerifyWatcher {
  /** Undefined: all accounts. */
  readonly account: string | undefined;
  readonly begin: (account: string, events: number) => void;
  readonly events: (count: number) => void;
  readonly fault: (fault: Fault) => void;
}

const CHUNK_POSITIONS = 10_000;
/** Limit for one kind of fault in one chunk; a lost table would report every position. */
const MAX_REPORTED = 10;

/**
 * Checks each log in one snapshot: its positions are 1, 2, 3 ... up to the head, the versions of every stream have no
 * gap, and every leaf hash is the hash of its event. Resolves with the numbers of accounts and events.
 */
export async function verify(
  database: MaintenanceDatabase,
  watcher: VerifyWatcher,
): Promise<{ accounts: number; events: number }> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openSnapshot();
    // An aggregate in the order of positions makes PostgreSQL read each page once.
    await client.query('set local enable_hashagg = off');
    const { rows } = await client.query<{ account_id: string; size: string }>(ACCOUNTS, [watcher.account ?? null]);
    let events = 0;
    for (const { account_id: account, size } of rows) {
      watcher.begin(account, Number(size));
      events += await verifyAccount(client, account, Number(size), watcher);
    }
    return { accounts: rows.length, events };
  });
}

/** $1: the account, or null for all. A log without a head has size 0. */
const ACCOUNTS = `select coalesce(h.account_id, e.account_id) as account_id, coalesce(h.size, 0) as size
  from log_heads h full join (select distinct account_id from events) e using (account_id)
  where $1::text is null or coalesce(h.account_id, e.account_id) = $1 order by 1`;

async function verifyAccount(client: Client, account: string, size: number, watcher: VerifyWatcher): Promise<number> {
  const report = (faults: readonly string[], describe: (fault: string) => string): void => {
    for (const what of summarize(faults, describe)) watcher.fault({ account, what });
  };
  let events = 0;
  for (let after = 0; after < size; after += CHUNK_POSITIONS) {
    const { found, wrong, missing } = await checkChunk(client, account, after, Math.min(after + CHUNK_POSITIONS, size));
    events += found;
    report(wrong, (position) => `position ${position}: the leaf hash is not that of the event`);
    report(missing, (position) => `position ${position}: missing`);
    watcher.events(found);
  }
  const beyond = await texts(client, BEYOND, [account, size]);
  report(beyond, (position) => `position ${position}: outside the log, whose head is at ${size}`);
  const gaps = await texts(client, GAPS, [account]);
  report(gaps, (stream) => `stream ${stream}: its versions are not 1, 2, 3 ... without a gap`);
  return events + beyond.length;
}

interface Chunk {
  /** Number of events. */
  readonly found: number;
  /** Positions with a wrong leaf hash. */
  readonly wrong: readonly string[];
  /** Positions without an event. */
  readonly missing: readonly string[];
}

async function checkChunk(client: Client, account: string, after: number, upTo: number): Promise<Chunk> {
  const { rows } = await client.query<{ events: number; wrong: string[] | null }>(CHUNK, [account, after, upTo]);
  const found = rows[0]?.events ?? 0;
  const missing = found < upTo - after ? await texts(client, MISSING, [account, after, upTo]) : [];
  return { found, wrong: rows[0]?.wrong ?? [], missing };
}

/** One sentence for each fault up to the limit, and one for the rest. `faults` are positions or ids of streams. */
function summarize(faults: readonly string[], describe: (fault: string) => string): string[] {
  const sentences = faults.slice(0, MAX_REPORTED).map(describe);
  if (faults.length <= MAX_REPORTED) return sentences;
  return [...sentences, `and ${faults.length - MAX_REPORTED} more like ${describe(faults.at(-1) ?? '')}`];
}

async function texts(client: Client, query: string, values: readonly unknown[]): Promise<string[]> {
  const { rows } = await client.query<{ text: string }>(query, [...values]);
  return rows.map(({ text }) => text);
}

const CHUNK = `select count(*)::int as events, array_agg(position::text order by position) filter (where leaf_hash is distinct from
    event_leaf_hash(account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at)) as wrong
  from events where account_id = $1 and position > $2 and position <= $3`;
const MISSING = `select p::text as text from generate_series($2::bigint + 1, $3::bigint) p
  where not exists (select from events where account_id = $1 and position = p) order by p`;
const BEYOND = `select position::text as text from events
  where account_id = $1 and (position > $2 or position < 1) order by position`;
const GAPS = `select stream_id as text from events where account_id = $1
  group by stream_id having min(stream_version) <> 1 or max(stream_version) <> count(*) order by stream_id`;
