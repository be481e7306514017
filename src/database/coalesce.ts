import DataLoader from 'dataloader';
import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from './query.js';

const MAX_KEYS_PER_QUERY = 500;

/**
 * Turns look-ups that arrive in one turn of the event loop into one query. Nothing is cached: each look-up is answered by
 * a query that starts after it arrived, so an answer is never older than its question.
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

/** A thing of one account. Account and id are asked for together: a foreign id finds nothing, exactly like an unknown one. */
export interface Ref {
  readonly accountId: string;
  readonly id: string;
}

/** What a query of `coalescedByRef` returns in each row, so that rows find their way back to the refs. */
export interface RefRow {
  readonly account_id: string;
  readonly id: string;
}

/**
 * Coalesced look-ups by account and id. The statement gets two arrays of equal length, $1 the accounts and $2 the ids;
 * join it with WANTED.
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

/** Joins table `t` with the refs a coalesced look-up asks for. */
export const WANTED =
  'join unnest($1::text[], $2::text[]) as wanted(account_id, id) on t.account_id = wanted.account_id and t.id = wanted.id';
