import type { Pool } from 'pg';
import { type NamedStatement, queryNamed } from './query.js';

const MAX_KEYS_PER_QUERY = 500;

/** The key of an entity. Queries match account and id together, so an id of another account is an unknown id. */
export interface Ref {
  readonly accountId: string;
  readonly id: string;
}

type Found<Value> = ReadonlyMap<string, Value>;

/** The look-ups of one account in one turn of the event loop, with a promise for the value of each id. */
interface Batch<Value> {
  readonly values: Map<string, Promise<Value | undefined>>;
  readonly found: Promise<Found<Value>>;
}

type Load<Value> = (accountId: string, ids: readonly string[]) => Promise<Found<Value>>;

/** The newest batch of each account. It takes further look-ups until its query starts. */
class OpenBatches<Value> {
  private readonly batches = new Map<string, Batch<Value>>();

  constructor(private readonly load: Load<Value>) {}

  find({ accountId, id }: Ref): Promise<Value | undefined> {
    const current = this.batches.get(accountId);
    const isFull = current?.values.size === MAX_KEYS_PER_QUERY;
    const { values, found } = current === undefined || isFull ? this.open(accountId) : current;
    const value = values.get(id) ?? found.then((all) => all.get(id));
    values.set(id, value);
    return value;
  }

  private open(accountId: string): Batch<Value> {
    const values: Batch<Value>['values'] = new Map();
    const batch = { values, found: this.loadAfterTurn(accountId, values) };
    this.batches.set(accountId, batch);
    return batch;
  }

  private async loadAfterTurn(accountId: string, values: Batch<Value>['values']): Promise<Found<Value>> {
    await new Promise((resolve) => setImmediate(resolve));
    if (this.batches.get(accountId)?.values === values) this.batches.delete(accountId);
    return this.load(accountId, [...values.keys()]);
  }
}

/**
 * Combines the look-ups of one account that arrive in one turn of the event loop into one query, and the look-ups of
 * one id into one promise. It caches no result: the query starts after the look-up has arrived, so a caller never reads
 * data that is older than its request.
 */
export function coalescedByAccount<Value>(load: Load<Value>): (ref: Ref) => Promise<Value | undefined> {
  const batches = new OpenBatches(load);
  return (ref) => batches.find(ref);
}

/** Combines look-ups like `coalescedByAccount`, by a key whose account is not known yet, such as a token. */
export function coalesced<Value>(
  load: (keys: readonly string[]) => Promise<Found<Value>>,
): (key: string) => Promise<Value | undefined> {
  const find = coalescedByAccount<Value>((_, keys) => load(keys));
  return (id) => find({ accountId: '', id });
}

/**
 * Combines look-ups of rows into one statement with an account as $1 and ids as $2 (see `wantedRows`). Its rows have an
 * `id`.
 */
export const coalescedRows = <Row extends { readonly id: string }, Value>(
  pool: Pool,
  statement: NamedStatement,
  toValue: (row: Row) => Value,
): ((ref: Ref) => Promise<Value | undefined>) =>
  coalescedByAccount(async (accountId, ids) => {
    const { rows } = await queryNamed<Row>(pool, statement, [accountId, ids]);
    return new Map(rows.map((row) => [row.id, toValue(row)]));
  });

/**
 * SQL of the rows of a table with the ids `$2` of account `$1`. By `id = any ($2)` PostgreSQL 15 would read the whole
 * account.
 */
export const wantedRows = (table: string, id = 'id'): string => `unnest($2::text[]) as wanted(id)
  cross join lateral (select * from ${table} one where one.account_id = $1 and one.${id} = wanted.id limit 1)`;
