import { setTimeout as pause } from 'node:timers/promises';
import type { Pool } from 'pg';
import { LogReader } from '../log/read/log-reader.js';
import type { RecordedEvent } from '../log/read/recorded-event.js';

/** Account to the newest position of its log. */
type Heads = ReadonlyMap<string, number>;

const LOOK_EVERY_MS = 250;

/** The newest events of all accounts, or of one, in the order of their times; and where the logs ended then. */
export async function newestEvents(
  pool: Pool,
  count: number,
  account: string | undefined,
): Promise<{ events: RecordedEvent[]; heads: Heads }> {
  const heads = await headsOf(pool, account);
  const events: RecordedEvent[] = [];
  // The account with the newest event first: those behind the first `count` accounts can have none of the newest.
  for (const [accountId, upTo] of [...heads].slice(0, count)) {
    const span = { after: Math.max(0, upTo - count), upTo };
    for await (const page of new LogReader(pool).pages(accountId, span)) events.push(...page.events);
  }
  return { events: events.sort(byTime).slice(Math.max(0, events.length - count)), heads };
}

/** What is appended behind `heads`, also to logs that begin later. Ends when the signal says so. */
export async function* followLogs(
  pool: Pool,
  heads: Heads,
  account: string | undefined,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent> {
  const seen = new Map(heads);
  const reader = new LogReader(pool);
  while (!signal.aborted) {
    for (const [accountId, upTo] of await headsOf(pool, account)) {
      const after = seen.get(accountId) ?? 0;
      for await (const page of reader.pages(accountId, { after, upTo })) yield* page.events;
      seen.set(accountId, upTo);
    }
    await pause(LOOK_EVERY_MS, undefined, { signal }).catch(() => undefined);
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
