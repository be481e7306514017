import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from '../../../database/index.js';

/** A moment of the database, up to which all changes are known. */
export interface Moment {
  /** The snapshot, as pg_current_snapshot() writes it. */
  readonly snapshot: string;
  /** Start of the server. Snapshots of two servers cannot be compared. */
  readonly server: string;
  /** The database's clock. */
  readonly now: string;
}

export interface Changes<Changed> {
  readonly moment: Moment;
  /** Undefined if there are too many, or if another server answers: then anything may have changed. */
  readonly changed: readonly Changed[] | undefined;
}

type Row<Changed> = Moment & { readonly isTooMany: boolean; readonly changed: readonly Changed[] };

/** The first look has null for what the last one told, and finds no change. */
export async function changesSince<Changed>(
  pool: Pool,
  statement: NamedStatement,
  values: readonly unknown[],
  last: Moment | undefined,
): Promise<Changes<Changed>> {
  const { rows } = await queryNamed<Row<Changed> & object>(pool, statement, values);
  const [row] = rows;
  if (row === undefined) throw new Error('the database has no moment');
  const { isTooMany, changed, ...moment } = row;
  const isSameServer = last === undefined || last.server === moment.server;
  return { moment, changed: isSameServer && !isTooMany ? changed : undefined };
}
