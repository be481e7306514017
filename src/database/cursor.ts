import type { ClientBase, QueryResultRow } from 'pg';

/** More would not be faster. An event may have 256 KiB, and memory holds two batches. */
const ROWS_PER_FETCH = 300;

/**
 * Yields the rows of a query in batches, so that memory does not grow with their number. The connection must be in a
 * transaction, may run other statements between two batches, and can have one cursor at a time.
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

/** Runs statements of a connection. Gets them as work, which begins when the connection is free. */
export type RunOnConnection = <T>(work: () => Promise<T>) => Promise<T>;

/** The connection is not shared, so it is free. */
export const atOnce: RunOnConnection = (work) => work();

/**
 * For one task that reads and another that writes on the same connection, which runs one statement at a time: each is busy
 * with its rows while the other's statement runs. After a failure all further work fails with the same error: the server
 * would only say that the transaction is aborted.
 */
export function oneByOne(): RunOnConnection {
  let last: Promise<unknown> = Promise.resolve();
  return (work) => {
    const result = last.then(work);
    // The caller gets the failure too, unless it has stopped.
    result.catch(() => undefined);
    last = result;
    return result;
  };
}

/** Reads each batch when the connection is free. */
export async function* readBy<Batch>(run: RunOnConnection, batches: AsyncGenerator<Batch>): AsyncGenerator<Batch> {
  for (;;) {
    const { value, done } = await run(() => batches.next());
    if (done) return;
    yield value;
  }
}

/** Reads the next batch while the caller works on the last one. */
export async function* readAhead<Batch>(batches: AsyncGenerator<Batch>): AsyncGenerator<Batch> {
  for (let next = batches.next(); ; ) {
    const { value, done } = await next;
    if (done) return;
    next = batches.next();
    // A caller that stops early never awaits this batch.
    next.catch(() => undefined);
    yield value;
  }
}
