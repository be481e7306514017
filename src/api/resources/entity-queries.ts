import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalescedRows, type NamedStatement, POOL, queryNamed, type Ref, wantedRows } from '../../database/index.js';
import type { Entity, ReadModel, Table } from '../../event-log/index.js';
import { type IdPrefix, isId } from '../../kernel/ids.js';
import type { PageRequest } from '../http/pages.js';
import type { ListFilter } from './resource-descriptor.js';

/** The part of a resource that the queries need. */
export interface Queried<State> {
  readonly model: Pick<ReadModel<State, never>, 'tables'>;
  readonly idPrefix: IdPrefix;
  readonly condition?: string;
  readonly largePages?: { readonly maxBytes: number; readonly bytesOfRow: string };
  isLive?(state: State): boolean;
}

/** A filter, and the value that it has in a request. */
export interface Selection<State> {
  readonly filter: ListFilter<State>;
  readonly value: string;
}

/**
 * A page of an account's entities: all of them, the entities of one owner, or the entities that match all selections.
 * It never has both an owner and selections.
 */
export interface WantedPage<State> {
  readonly accountId: string;
  readonly page: PageRequest;
  readonly ownerId?: string | undefined;
  readonly selections: readonly Selection<State>[];
}

/** The prepared statements of one resource. */
type Prepared<State extends object> = ReturnType<typeof prepare<State>>;

/** Reads the live entities of every resource, from the first table of its model, which has one row for each entity. */
@Injectable()
export class EntityQueries {
  private readonly prepared = new Map<Queried<object>, Prepared<object>>();

  constructor(@Inject(POOL) private readonly pool: Pool) {}

  /** The live entity with this id. Text that cannot be an id of the resource finds nothing. */
  find<State extends object>(resource: Queried<State>, ref: Ref): Promise<Entity<State> | undefined> {
    return isId(ref.id, resource.idPrefix) ? this.of(resource).find(ref) : Promise.resolve(undefined);
  }

  /** Newest first, and one entity beyond the page if there are more: see `bounded`. */
  async list<State extends object>(
    resource: Queried<State>,
    { accountId, page: { beforeId, limit }, ...narrowing }: WantedPage<State>,
  ): Promise<Entity<State>[]> {
    const { statement, further } = this.statementOf(resource, narrowing);
    // The default is greater than any id: `$2 is null or id < $2` would scan all rows before the page.
    const values = [accountId, beforeId ?? `${resource.idPrefix}_~`, limit + 1, ...further];
    return (await queryNamed<Entity<State>>(this.pool, statement, values)).rows;
  }

  /** The statement of a page, and its values from $4 on. */
  private statementOf<State extends object>(
    resource: Queried<State>,
    { ownerId, selections }: Pick<WantedPage<State>, 'ownerId' | 'selections'>,
  ): { readonly statement: NamedStatement; readonly further: readonly string[] } {
    const { pageStatement, pageOfOwnerStatement } = this.of(resource);
    if (ownerId !== undefined) return { statement: pageOfOwnerStatement, further: [ownerId] };
    if (selections.length === 0) return { statement: pageStatement, further: [] };
    return { statement: selectionStatement(resource, selections), further: selections.map(({ value }) => value) };
  }

  /** At most `max` live entities of an owner, the next ones after an id. */
  async ofOwner<State extends object>(
    resource: Queried<State>,
    { accountId, id }: Ref,
    afterId: string,
    max: number,
  ): Promise<Entity<State>[]> {
    const { ownedStatement } = this.of(resource);
    return (await queryNamed<Entity<State>>(this.pool, ownedStatement, [accountId, id, afterId, max])).rows;
  }

  private of<State extends object>(resource: Queried<State>): Prepared<State> {
    const prepared = (this.prepared.get(resource) as Prepared<State> | undefined) ?? prepare(this.pool, resource);
    this.prepared.set(resource, prepared);
    return prepared;
  }
}

/** The table with one row for each entity. */
export function tableOf<State>({ model }: Queried<State>): Table<State> {
  const [table] = model.tables;
  if (table === undefined) throw new RangeError('a read model has a table');
  return table;
}

function selectOf<State>(resource: Queried<State>, from?: string): string {
  const { name, columns } = tableOf(resource);
  return `select ${columns.map((column) => `t.${column}`).join(', ')} from ${from ?? name} t`;
}

/**
 * `is true` keeps PostgreSQL from using the index of a further condition: only the first filter's index finds the rows.
 */
function selectionStatement<State>(resource: Queried<State>, [first, ...others]: readonly Selection<State>[]) {
  const names = [first, ...others].map((one) => one?.filter.name).join('_');
  const further = others.map(({ filter }, n) => ` and (${filter.condition(`$${n + 5}`)}) is true`).join('');
  const where = `where ${first?.filter.rows}${further} and ${resource.condition ?? 'true'}`;
  const text = `${selectOf(resource, first?.filter.from)} ${where} order by ${first?.filter.order} limit $3`;
  return { name: `${resource.idPrefix}_page_by_${names}`, text };
}

/** The rows of a page. Of large ones, those that can be in it, and one more: the caller counts the bytes of the page. */
function bounded<State>(resource: Queried<State>, where: string): string {
  if (resource.largePages === undefined) return `${selectOf(resource)} ${where}`;
  const { maxBytes, bytesOfRow } = resource.largePages;
  const rows = `select t.* from ${tableOf(resource).name} t ${where}`;
  const before = `sum(${bytesOfRow}) over (order by t.id desc rows between unbounded preceding and 2 preceding)`;
  const counted = `(select t.*, ${before} as bytes_before from (${rows}) t)`;
  return `${selectOf(resource, counted)} where coalesce(t.bytes_before, 0) <= ${maxBytes} order by t.id desc`;
}

const liveOrNone = <State>({ isLive }: Queried<State>, entity: Entity<State>): Entity<State> | undefined =>
  isLive?.(entity) === false ? undefined : entity;

function prepare<State extends object>(pool: Pool, resource: Queried<State>) {
  const { idPrefix, condition = 'true' } = resource;
  const select = selectOf(resource);
  const byIds = { name: `${idPrefix}_by_ids`, text: selectOf(resource, wantedRows(tableOf(resource).name)) };
  return {
    // The condition is not in this statement: by a partial index that has it, PostgreSQL could read all of its rows.
    find: coalescedRows(pool, byIds, (row: Entity<State>) => liveOrNone(resource, row)),
    // The lower bound keeps the query from scanning entities of another resource in the same table.
    pageStatement: {
      name: `${idPrefix}_page`,
      text: bounded(
        resource,
        `where t.account_id = $1 and t.id < $2 and t.id > '${idPrefix}_' and ${condition} order by t.id desc limit $3`,
      ),
    },
    // The row comparisons and the order match the index of owners, so that PostgreSQL takes no other. A tilde sorts
    // after all ids.
    pageOfOwnerStatement: {
      name: `${idPrefix}_page_of_owner`,
      text: `${select} where t.account_id = $1 and (t.owner_id, t.id) < ($4, $2) and (t.owner_id, t.id) > ($4, '${idPrefix}_')
        and ${condition} order by t.owner_id desc, t.id desc limit $3`,
    },
    ownedStatement: {
      name: `${idPrefix}_owned`,
      text: `${select} where t.account_id = $1 and (t.owner_id, t.id) > ($2, $3) and (t.owner_id, t.id) < ($2, '~')
        order by t.owner_id, t.id limit $4`,
    },
  };
}
