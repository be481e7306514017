import { type Connections, type NamedStatement, onlyRow, queryNamed } from '../../database/index.js';

/** The tables of records, in partitions by the day in an id. Their rows are sealed, and deleted by their age alone. */
export const RECORD_TABLES = [
  'bind_decisions',
  'tunnel_session_records',
  'tunnel_records',
  'edge_connection_records',
] as const;
export type RecordTable = (typeof RECORD_TABLES)[number];

/** A transaction that makes lines needs this. Otherwise times would be in the zone of the session. */
export const IN_UTC: NamedStatement = { name: 'in_utc', text: `select set_config('timezone', 'UTC', true)` };

/**
 * SQL for the line of a row `t`, with its columns by name. It leaves out columns that are null, so that a column which
 * is added later changes no line of before. The id of the transaction says nothing to another server.
 */
export const recordLine = (table: string): string =>
  `concat('{"table":"${table}","row":{', (
    select string_agg(concat(to_json(key), ':', value), ',' order by key collate "C") from jsonb_each(to_jsonb(t))
    where value <> 'null' and key <> 'transaction_id'), '}}')`;

/** The rows of account $1 that settled from $2 on and before $3. The rows of no account are not in the index. */
const SETTLED = `t.account_id = $1 and t.account_id <> '' and t.settled_at >= $2 and t.settled_at < $3`;

export interface RecordLineOfId {
  readonly id: string;
  readonly line: string;
}

interface Settled {
  readonly accountId: string;
  readonly from: string;
  readonly to: string;
}

interface PageSize {
  readonly rows: number;
  readonly characters: number;
}

/** Two statements, since PostgreSQL would look for the least id in the order of all ids. */
const boundsOf = (table: RecordTable): NamedStatement => ({
  name: `bounds_of_${table}`,
  text: `with settled as materialized (select t.id from ${table} t where ${SETTLED})
    select min(id) as first, max(id) as last from settled`,
});

/** The rows from $4 to $5, without $6, in the order of ids. Because of `is true` no index on settled_at is taken. */
const pageOf = (table: RecordTable): NamedStatement => ({
  name: `page_of_${table}`,
  text: `select id, line from (
      select id, line, sum(octet_length(line)) over (order by id) - octet_length(line) as before from (
        select t.id, ${recordLine(table)} as line from ${table} t
        where t.account_id = $1 and t.id >= $4 and t.id <= $5 and t.id <> $6
          and (t.settled_at >= $2) is true and (t.settled_at < $3) is true
        order by t.id limit $7) lines) sized
    where before < $8 order by id`,
});

/** The lines of records of one table that settled within a time, in the order of ids, page by page. */
export class RecordPages {
  private bounds: { readonly first: string | null; readonly last: string | null } | undefined;
  private after = '';

  constructor(
    private readonly table: RecordTable,
    private readonly settled: Settled,
  ) {}

  /** The next page. It is empty after the last one. The connection must be in a transaction. */
  async next(connections: Connections, { rows: most, characters }: PageSize): Promise<readonly RecordLineOfId[]> {
    const { accountId, from, to } = this.settled;
    const settled = [accountId, from, to];
    await queryNamed(connections, IN_UTC, []);
    this.bounds ??= onlyRow(
      (await queryNamed<{ first: string | null; last: string | null }>(connections, boundsOf(this.table), settled))
        .rows,
    );
    const { first, last } = this.bounds;
    if (first === null || last === null || this.after === last) return [];
    const values = [...settled, this.after || first, last, this.after, most, characters];
    const { rows } = await queryNamed<RecordLineOfId & object>(connections, pageOf(this.table), values);
    this.after = rows.at(-1)?.id ?? last;
    return rows;
  }
}
