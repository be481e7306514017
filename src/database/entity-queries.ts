import type { Pool } from 'pg';
import { type Entity, type EntityRow, entityOf, type Table } from '../event-log/read-model.js';
import type { PageRequest } from '../http/page.js';
import { type IdPrefix, isId } from '../ids.js';
import { coalescedByRef, type Ref, WANTED } from './coalesce.js';
import { type NamedStatement, queryNamed } from './query.js';

/** What GET and LIST of a resource answer from: the table that has one row for each of its entities. */
export class EntityQueries<State, Row extends EntityRow> {
  private readonly byId: (ref: Ref) => Promise<Entity<State> | undefined>;
  private readonly page: NamedStatement;

  constructor(
    protected readonly pool: Pool,
    { name, columns }: Pick<Table<State>, 'name' | 'columns'>,
    private readonly idPrefix: IdPrefix,
    private readonly stateOf: (row: Row) => State,
  ) {
    const select = `select ${columns.map((column) => `t.${column}`).join(', ')} from ${name} t`;
    const byIds = { name: `${name}_by_ids`, text: `${select} ${WANTED}` };
    this.byId = coalescedByRef(pool, byIds, (row: Row) => entityOf(row, stateOf(row)));
    this.page = {
      name: `${name}_page`,
      text: `${select} where t.account_id = $1 and ($2::text is null or t.id < $2) order by t.id desc limit $3`,
    };
  }

  /** The live entity with this id; text that cannot be an id of this resource finds nothing and asks nothing. */
  async find(ref: Ref): Promise<Entity<State> | undefined> {
    return isId(ref.id, this.idPrefix) ? this.byId(ref) : undefined;
  }

  /** Newest first, one more than a page holds when there are more. */
  async list(accountId: string, page: PageRequest): Promise<Entity<State>[]> {
    const { rows } = await queryNamed<Row>(this.pool, this.page, [accountId, page.beforeId, page.limit + 1]);
    return rows.map((row) => entityOf(row, this.stateOf(row)));
  }
}
