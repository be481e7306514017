import type { ClientBase, QueryResultRow } from 'pg';

/** Bounds the memory: an event may have 256 KiB, and a reader may hold two batches. */
const ROWS_PER_FETCH = 300;

/**
 * Yields the rows of a query in batches, so that memory does not grow with their number. The connection must be in a
 * transaction. It may run other statements between two batches, and can have one cursor at a time.
 */
export async function* fetchRows<Row extends QueryResultRow>(
  client: ClientBase,
  query: string,
  values: readonly unknown[] = [],
): AsyncGenerator<Row[]> {
  await client.query(`declare rows no scroll cursor for ${query}`, [...values]);
  for (;;) {
    const { rows } = await client.query<Row>(`fetch ${ROWS_PER_FETCH} from rows`);
    if (rows.length > 0) yield rows;
    if (rows.length < ROWS_PER_FETCH) break;
  }
  await client.query('close rows');
}

/**
 * For a transaction that reads a whole log in the order of an index. Otherwise PostgreSQL may sort the log in files on
 * disk.
 */
export const IN_INDEX_ORDER =
  'set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off';
