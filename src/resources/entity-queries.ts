import type { Pool } from 'pg';
import { coalescedByRef, type Ref, WANTED } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import type { PageRequest } from '../http/pages.js';
import { type IdPrefix, isId } from '../ids.js';
import type { Entity, ReadModel } from '../log/read-model.js';

/** The part of a resource that the queries need. */
interface Queried<State> {
  readonly model: Pick<ReadModel<State, never>, 'tables'>;
  readonly idPrefix: IdPrefix;
  readonly condition?: string;
}

/** The prepared statements of one resource. */
type Prepared<State extends object> = ReturnType<typeof prepare<State>>;

/** Reads the live entities of every resource, from the first table of its model, which has one row for each entity. */
export class EntityQueries {
  private readonly prepared = new Map<Queried<object>, Prepared<object>>();

  constructor(private readonly pool: Pool) {}

  /** The live entity with this id. Text that cannot be an id of the resource costs no query. */
  async find<State extends object>(resource: Queried<State>, ref: Ref): Promise<Entity<State> | undefined> {
    return isId(ref.id, resource.idPrefix) ? this.of(resource).find(ref) : undefined;
  }

  /** Newest first, and one entity beyond the page if there are more. With `ownerId`, only entities of this owner. */
  async list<State extends object>(
    resource: Queried<State>,
    accountId: string,
    { beforeId, limit }: PageRequest,
    ownerId?: string,
  ): Promise<Entity<State>[]> {
    const { page, pageOfOwner } = this.of(resource);
    // The default is greater than any id: `$2 is null or id < $2` would scan all rows before the page.
    const values = [accountId, beforeId ?? `${resource.idPrefix}_~`, limit + 1];
    const { rows } = await (ownerId === undefined
      ? queryNamed<Entity<State>>(this.pool, page, values)
      : queryNamed<Entity<State>>(this.pool, pageOfOwner, [...values, ownerId]));
    return rows;
  }

  /** At most `max` live entities of an owner. */
  async ofOwner<State extends object>(
    resource: Queried<State>,
    { accountId, id }: Ref,
    max: number,
  ): Promise<Entity<State>[]> {
    const { ofOwner } = this.of(resource);
    return (await queryNamed<Entity<State>>(this.pool, ofOwner, [accountId, id, max])).rows;
  }

  private of<State extends object>(resource: Queried<State>): Prepared<State> {
    const prepared = (this.prepared.get(resource) as Prepared<State> | undefined) ?? prepare(this.pool, resource);
    this.prepared.set(resource, prepared);
    return prepared;
  }
}

function prepare<State extends object>(pool: Pool, { model, idPrefix, condition = 'true' }: Queried<State>) {
  const [table] = model.tables;
  const select = `select ${table?.columns.map((column) => `t.${column}`).join(', ')} from ${table?.name} t`;
  // The lower bound keeps the query from scanning entities of another resource in the same table.
  const pageWhere = `${select} where t.account_id = $1 and t.id < $2 and t.id > '${idPrefix}_' and ${condition} and by_index(t.id)`;
  const newestFirst = 'order by t.id desc limit $3';
  const byIds = { name: `${idPrefix}_by_ids`, text: `${select} ${WANTED} where ${condition}` };
  return {
    find: coalescedByRef(pool, byIds, (entity: Entity<State>) => entity),
    page: { name: `${idPrefix}_page`, text: `${pageWhere} ${newestFirst}` },
    pageOfOwner: { name: `${idPrefix}_page_of_owner`, text: `${pageWhere} and t.owner_id = $4 ${newestFirst}` },
    ofOwner: {
      name: `${idPrefix}_owned`,
      text: `${select} where t.account_id = $1 and t.owner_id = $2 and by_index(t.id) limit $3`,
    },
  };
}
