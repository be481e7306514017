import { DatabaseError, type Pool, type PoolClient, type QueryResult, type QueryResultRow } from 'pg';
import { DatabaseUnreachable } from './failure.js';

/** A prepared statement: PostgreSQL parses and plans `text` once per connection under `name`. */
export interface NamedStatement {
  readonly name: string;
  readonly text: string;
}

/**
 * Runs a named statement on a pooled connection. An error that the server answered with leaves the connection usable;
 * `pool.query` would throw it away on any error, which costs a new connection (7 ms instead of 1).
 */
export async function queryNamed<R extends QueryResultRow>(
  pool: Pool,
  { name, text }: NamedStatement,
  values: readonly unknown[],
): Promise<QueryResult<R>> {
  const client = await pool.connect().catch(unreachable);
  try {
    const result = await client.query<R>({ name, text, values: [...values] });
    client.release();
    return result;
  } catch (error) {
    const isAnswer = error instanceof DatabaseError;
    client.release(isAnswer && error.severity === 'ERROR' ? undefined : true);
    return isAnswer ? Promise.reject(error) : unreachable(error);
  }
}

function unreachable(error: unknown): never {
  // What the server answered says more; and a fault of ours must not look like one of the network.
  if (error instanceof DatabaseError || error instanceof TypeError || error instanceof RangeError) throw error;
  throw new DatabaseUnreachable(error instanceof Error ? error.message : String(error), { cause: error });
}

/**
 * Keeps a lost connection from ending the process: besides failing its query, pg emits `error` on the client, and on the
 * pool when the client was idle. The query's failure says all there is to say.
 */
export function surviveLostConnections(pool: Pool): Pool {
  const ignore = (): void => undefined;
  const known = new WeakSet<PoolClient>();
  return pool.on('error', ignore).on('acquire', (client) => {
    if (known.has(client)) return;
    known.add(client);
    client.on('error', ignore);
  });
}
