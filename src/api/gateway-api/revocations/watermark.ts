import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from '../../../database/index.js';

/** A state of the database, up to which all changes are known. */
export interface Watermark {
  /** The snapshot, as pg_current_snapshot() writes it. */
  readonly snapshot: string;
  /** Start of the server. Snapshots of two servers cannot be compared. */
  readonly server: string;
  /** The database's clock. */
  readonly now: string;
}

/**
 * Conditions of rows that the last look, with the snapshot $1, did not see. `moment` has the snapshot of this look. They
 * stand in two selects, since each then reads new rows alone by an index on transaction_id; an `or` may read all.
 */
export const BEGAN_LATER = `transaction_id >= pg_snapshot_xmax($1::pg_snapshot)
  and transaction_id < (select pg_snapshot_xmax(snapshot) from moment)`;
export const WAS_IN_PROGRESS = `transaction_id = any(array(select pg_snapshot_xip($1::pg_snapshot)))`;

/** What changed since the last look. */
export interface NewChanges<Changed> {
  readonly watermark: Watermark;
  /** Undefined if there are too many, or if another server answers: then anything may have changed. */
  readonly changed: readonly Changed[] | undefined;
}

type Row<Changed> = Watermark & { readonly isTooMany: boolean; readonly changed: readonly Changed[] };

/** The first look has no watermark: its values are null, and it finds no change. */
export async function changesSince<Changed>(
  pool: Pool,
  statement: NamedStatement,
  values: readonly unknown[],
  last: Watermark | undefined,
): Promise<NewChanges<Changed>> {
  const { rows } = await queryNamed<Row<Changed> & object>(pool, statement, values);
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no watermark');
  const { isTooMany, changed, ...watermark } = row;
  const isSameServer = last === undefined || last.server === watermark.server;
  return { watermark, changed: isSameServer && !isTooMany ? changed : undefined };
}
