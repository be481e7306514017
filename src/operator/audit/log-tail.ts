import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool } from 'pg';
import { LogPages, type RecordedEvent } from '../../event-log/index.js';

/** The newest position of each account's log. */
type Heads = ReadonlyMap<string, number>;

const POLL_INTERVAL_MS = 250;
const WAY_OUT = 'Was the database restored, or did a failover lose changes? New events take their positions';

/** The newest events of all accounts or of one, oldest first, and the heads of the logs at that moment. */
export async function newestEvents(
  pool: Pool,
  count: number,
  account: string | undefined,
): Promise<{ events: RecordedEvent[]; heads: Heads }> {
  const heads = await headsOf(pool, account);
  let newest: RecordedEvent[] = [];
  for (const [accountId, upTo] of heads) {
    const events: RecordedEvent[] = [];
    const span = { after: Math.max(0, upTo - count), upTo };
    for await (const page of new LogPages(pool).pages(accountId, span)) events.push(...page.events);
    const both = [...newest, ...events].sort(byTime);
    newest = both.slice(Math.max(0, both.length - count));
    const last = events.at(-1);
    // The accounts are sorted by their newest event, so the next ones have only older events.
    if (last !== undefined && !newest.includes(last)) break;
  }
  return { events: newest, heads };
}

/** The events that are appended after `heads`, also in new accounts. Ends when the signal aborts. */
export async function* followLogs(
  pool: Pool,
  heads: Heads,
  account: string | undefined,
  signal: AbortSignal,
  report: (line: string) => void,
): AsyncGenerator<RecordedEvent> {
  const seen = new Map(heads);
  const log = new LogPages(pool);
  while (!signal.aborted) {
    for (const [accountId, upTo] of await headsOf(pool, account)) {
      const after = seen.get(accountId) ?? 0;
      if (upTo < after) {
        report(
          `the log of ${accountId} ends at ${upTo}, but its events up to ${after} were shown: they are lost. ${WAY_OUT}`,
        );
      }
      for await (const page of log.pages(accountId, { after, upTo })) yield* page.events;
      seen.set(accountId, upTo);
    }
    await sleep(POLL_INTERVAL_MS, undefined, { signal }).catch(() => undefined);
  }
}

async function headsOf(pool: Pool, account: string | undefined): Promise<Heads> {
  const { rows } = await pool.query<{ account_id: string; size: number }>(
    'select account_id, size::float8 as size from log_heads where $1::text is null or account_id = $1 order by recorded_at desc',
    [account ?? null],
  );
  return new Map(rows.map(({ account_id, size }) => [account_id, size]));
}

const byTime = (a: RecordedEvent, b: RecordedEvent): number => (a.recordedAt < b.recordedAt ? -1 : 1);
