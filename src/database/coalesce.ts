import type { Pool } from 'pg';
import { type NamedStatement, queryJson, type StatementLimits } from './query.js';

const MAX_KEYS_PER_QUERY = 500;

/** The look-ups of one turn of the event loop: different keys, and the promise of each one's value. */
interface Batch<Key, Value> {
  readonly keys: Key[];
  readonly values: Map<string, Promise<Value | undefined>>;
  readonly found: Promise<ReadonlyMap<string, Value>>;
}

/**
 * Combines look-ups that arrive in one turn of the event loop into one query, and look-ups of one key into one promise.
 * It caches no result: the query starts after the look-up arrived, so a caller never reads data older than its request.
 */
export function coalesced<Key, Value>(
  keyText: (key: Key) => string,
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
): (key: Key) => Promise<Value | undefined> {
  let batch: Batch<Key, Value> | undefined;
  const open = (): Batch<Key, Value> => {
    const keys: Key[] = [];
    const found = new Promise<ReadonlyMap<string, Value>>((resolve) => {
      setImmediate(() => {
        if (batch?.keys === keys) batch = undefined;
        resolve(load(keys));
      });
    });
    return { keys, values: new Map(), found };
  };
  return (key) => {
    if (batch === undefined || batch.keys.length === MAX_KEYS_PER_QUERY) batch = open();
    const { keys, values, found } = batch;
    const text = keyText(key);
    const same = values.get(text);
    if (same !== undefined) return same;
    const value = found.then((all) => all.get(text));
    keys.push(key);
    values.set(text, value);
    return value;
  };
}

/** Key of an entity. Queries match account and id together, so an id of another account looks like an unknown id. */
export interface Ref {
  readonly accountId: string;
  readonly id: string;
}

/** Columns that a query of `coalescedByRef` must select, to match each row with its ref. */
export interface RefRow {
  readonly account_id: string;
  readonly id: string;
}

/**
 * Coalesced look-ups by account and id. The statement takes two arrays of equal length, $1 the accounts and $2 the ids;
 * `wantedRows` finds theirs. The rows are as JSON has them.
 */
export function coalescedByRef<Row extends RefRow, Value>(
  pool: Pool,
  statement: NamedStatement,
  toValue: (row: Row) => Value,
  limits?: StatementLimits,
): (ref: Ref) => Promise<Value | undefined> {
  const textOf = (accountId: string, id: string): string => `${accountId} ${id}`;
  return coalesced<Ref, Value>(
    (ref) => textOf(ref.accountId, ref.id),
    async (refs) => {
      const columns = [refs.map((ref) => ref.accountId), refs.map((ref) => ref.id)];
      const rows = await queryJson<Row>(pool, statement, columns, limits);
      return new Map(rows.map((row) => [textOf(row.account_id, row.id), toValue(row)]));
    },
  );
}

/** SQL of the rows of a table that the refs name. Each is looked up by itself: a join may read all of a table that was small. */
export const wantedRows = (
  table: string,
  id = 'id',
): string => `unnest($1::text[], $2::text[]) as wanted(account_id, id)
  cross join lateral (select * from ${table} one where one.account_id = wanted.account_id and one.${id} = wanted.id limit 1)`;
