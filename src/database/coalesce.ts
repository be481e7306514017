import DataLoader from 'dataloader';
import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from './query.js';

const MAX_KEYS_PER_QUERY = 500;

/**
 * Combines look-ups that arrive in one turn of the event loop into one query. It caches no result: the query starts
 * after the look-up arrived, so a caller never reads data older than its request.
 */
export function coalesced<Key, Value>(
  keyText: (key: Key) => string,
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
): (key: Key) => Promise<Value | undefined> {
  const loader = new DataLoader<Key, Value | undefined>(
    async (keys) => {
      const found = await load(keys);
      return keys.map((key) => found.get(keyText(key)));
    },
    { cache: false, maxBatchSize: MAX_KEYS_PER_QUERY, batchScheduleFn: setImmediate },
  );
  return (key) => loader.load(key);
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
 * join them with WANTED.
 */
export function coalescedByRef<Row extends RefRow, Value>(
  pool: Pool,
  statement: NamedStatement,
  toValue: (row: Row) => Value,
): (ref: Ref) => Promise<Value | undefined> {
  const textOf = (accountId: string, id: string): string => `${accountId} ${id}`;
  return coalesced<Ref, Value>(
    (ref) => textOf(ref.accountId, ref.id),
    async (refs) => {
      const columns = [refs.map((ref) => ref.accountId), refs.map((ref) => ref.id)];
      const { rows } = await queryNamed<Row>(pool, statement, columns);
      return new Map(rows.map((row) => [textOf(row.account_id, row.id), toValue(row)]));
    },
  );
}

/** SQL that joins table `t` with the refs of a coalesced look-up; for `by_index` see migration 0010. */
export const WANTED =
  'join unnest($1::text[], $2::text[]) as wanted(account_id, id) on t.account_id = wanted.account_id and t.id = wanted.id and by_index(t.id)';
