import type { Pool } from 'pg';
import { coalescedByRef, type Ref, WANTED } from '../database/coalesce.js';
import { type NamedStatement, queryNamed } from '../database/query.js';
import { type IdPrefix, isId } from '../ids.js';
import { type Entity, type EntityRow, entityOf, type Table } from '../log/read-model.js';

/** A page of a list, newest first. */
export interface PageRequest {
  readonly limit: number;
  /** Only items older than this id; null for the newest ones. */
  readonly beforeId: string | null;
}

/** What GET and LIST of a resource answer from: the table that has one row for each of its entities. */
export class EntityQueries<State, Row extends EntityRow> {
  private readonly byId: (ref: Ref) => Promise<Entity<State> | undefined>;
  private readonly page: NamedStatement;
  /** `select ... from table t`, for statements of a subclass. */
  protected readonly select: string;

  constructor(
    protected readonly pool: Pool,
    table: Pick<Table<State>, 'name' | 'columns'>,
    private readonly idPrefix: IdPrefix,
    private readonly stateOf: (row: Row) => State,
    /** SQL over table `t` that a row must meet to be there for callers. */
    condition = 'true',
  ) {
    this.select = `select ${table.columns.map((column) => `t.${column}`).join(', ')} from ${table.name} t`;
    const byIds = { name: `${idPrefix}_by_ids`, text: `${this.select} ${WANTED} where ${condition}` };
    this.byId = coalescedByRef(pool, byIds, (row: Row) => entityOf(row, stateOf(row)));
    this.page = {
      name: `${idPrefix}_page`,
      // Bounded below as well: another kind of thing may share the table, and must not be walked to find out.
      text: `${this.select} where t.account_id = $1 and t.id < $2 and t.id > '${idPrefix}_' and ${condition}
        order by t.id desc limit $3`,
    };
  }

  /** The live entity with this id; text that cannot be an id of this resource finds nothing and asks nothing. */
  async find(ref: Ref): Promise<Entity<State> | undefined> {
    return isId(ref.id, this.idPrefix) ? this.byId(ref) : undefined;
  }

  /** Newest first, one more than a page holds when there are more. */
  async list(accountId: string, page: PageRequest): Promise<Entity<State>[]> {
    return this.pageOf(this.page, accountId, page);
  }

  /** A page by a statement of its own: $1 the account, $2 the id before which it begins, $3 how many, then `values`. */
  protected async pageOf(
    statement: NamedStatement,
    accountId: string,
    { beforeId, limit }: PageRequest,
    ...values: readonly string[]
  ): Promise<Entity<State>[]> {
    const { rows } = await queryNamed<Row>(this.pool, statement, [
      accountId,
      // Greater than any id of this kind: `$2 is null or id < $2` would scan up to the page.
      beforeId ?? `${this.idPrefix}_~`,
      limit + 1,
      ...values,
    ]);
    return rows.map((row) => entityOf(row, this.stateOf(row)));
  }

  /** Some live things of an owner, for tables with a column owner_id. */
  protected async ownedBy({ accountId, id }: Ref, most: number): Promise<Entity<State>[]> {
    const text = `${this.select} where t.account_id = $1 and t.owner_id = $2 limit $3`;
    const { rows } = await queryNamed<Row>(this.pool, { name: `${this.idPrefix}_owned`, text }, [accountId, id, most]);
    return rows.map((row) => entityOf(row, this.stateOf(row)));
  }
}
