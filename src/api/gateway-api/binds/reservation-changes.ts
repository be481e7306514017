import { hash } from 'node:crypto';
import type { Pool } from 'pg';
import { BEGAN_LATER, onlyRow, onPrimary, queryNamed, WAS_IN_PROGRESS } from '../../../database/index.js';

/** See `isOfReservation`. The prefixes match the index. */
const OF_RESERVATIONS = `left(stream_id, 3) in ('ra_', 'rd_') and type not like '%\\_updated.v1'`;

/** $1: an earlier snapshot, or null. */
const SINCE = onPrimary({
  name: 'reservations_since',
  text: `with moment as materialized (select pg_current_snapshot() as snapshot)
    select snapshot::text, pg_postmaster_start_time()::text as server, $1::text is not null and (
        exists (select from events where ${BEGAN_LATER} and ${OF_RESERVATIONS})
        or exists (select from events where ${WAS_IN_PROGRESS} and ${OF_RESERVATIONS})) as "isChanged"
    from moment`,
});

/** As pg_snapshot_out writes it: the numbers of the first open transaction, of the next one, and of all open ones. */
const SNAPSHOT = /^\d{1,18}:\d{1,18}:(?:\d{1,18}(?:,\d{1,18})*)?$/;
const MAX_TEXT = 100_000;

/** Whether reservations changed since an earlier answer. The text of an answer stands for a snapshot of the database. */
export class ReservationChanges {
  /** Other settings, and another server, have other snapshots. */
  private readonly settings: string;

  constructor(
    private readonly pool: Pool,
    settings: string,
  ) {
    this.settings = hash('sha256', settings).slice(0, 16);
  }

  async since(known: string | undefined): Promise<{ readonly reservations: string; readonly isChanged: boolean }> {
    const [last, server, settings] = partsOf(known);
    const { rows } = await queryNamed<{ snapshot: string; server: string; isChanged: boolean }>(this.pool, SINCE, [
      last ?? null,
    ]);
    const now = onlyRow(rows);
    const isComparable = last !== undefined && server === now.server && settings === this.settings;
    const text = [now.snapshot, now.server, this.settings].join(';');
    return { reservations: Buffer.from(text).toString('base64url'), isChanged: !isComparable || now.isChanged };
  }
}

function partsOf(known = ''): readonly string[] {
  if (known.length > MAX_TEXT) return [];
  const parts = Buffer.from(known, 'base64url').toString().split(';');
  return isSnapshot(parts[0] ?? '') ? parts : [];
}

/** What PostgreSQL reads as a snapshot: the numbers ascend, but for the second, which is above all. */
function isSnapshot(text: string): boolean {
  if (!SNAPSHOT.test(text)) return false;
  const [first = 0n, next = 0n, ...open] = text
    .split(/[:,]/)
    .filter((part) => part !== '')
    .map(BigInt);
  const ascending = [first, ...open, next];
  return first > 0n && ascending.every((number, n) => n === 0 || (ascending[n - 1] ?? 0n) <= number);
}
