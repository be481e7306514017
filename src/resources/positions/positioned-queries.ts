import type { Pool } from 'pg';
import { coalescedByRef, REFS, type Ref, type RefRow } from '../../database/coalesce.js';
import { queryNamed, type StatementLimits } from '../../database/query.js';
import { OF_SERVER } from '../../database/replica/log-identity.js';
import type { AnswerAtHead } from '../../database/replica/replica.js';
import { type Entity, entitiesOfJson } from '../../log/read-model.js';
import { type Queried, type Question, tableOf } from '../entity-queries.js';

/** What was found, beside the server and the head of the account's log in the same snapshot. */
export interface AtHead<Found> extends AnswerAtHead {
  readonly found: Found;
}

/** Materialized, because a plan could ask the server anew for each row. */
const SEEN = `seen as materialized (select ${OF_SERVER})`;

/** The queries of EntityQueries on a pool, with the head of the log that they have seen. */
export class PositionedQueries {
  private readonly finders = new Map<Queried<object>, (ref: Ref) => Promise<AtHead<object | undefined> | undefined>>();

  constructor(
    private readonly pool: Pool,
    private readonly limits: StatementLimits,
  ) {}

  async find<State extends object>(resource: Queried<State>, ref: Ref): Promise<AtHead<Entity<State> | undefined>> {
    const finder = this.finders.get(resource) ?? this.finder(resource);
    this.finders.set(resource, finder);
    const found = (await finder(ref)) as AtHead<Entity<State> | undefined> | undefined;
    if (found === undefined) throw new RangeError('each ref has one row');
    return found;
  }

  /** The page stays empty, and costs no query of its own, if the log ends before `position`. */
  async page<State extends object>(question: Question, position: number): Promise<AtHead<Entity<State>[]>> {
    const { name, text } = question.statement;
    const statement = {
      name: `${name}_at_head`,
      text: `with ${SEEN}, head as materialized (
          select coalesce((select size::float8 from log_heads where account_id = $1 and by_index(account_id)), 0) as head)
        select seen.*, head.*, page.* from seen cross join head left join lateral (
          select page.* from (${text}) page where head.head >= $${question.values.length + 1}::float8) page on true`,
    };
    const values = [...question.values, position];
    const { rows } = await queryNamed<AnswerAtHead & Entity<State>>(this.pool, statement, values, this.limits);
    const [first] = rows;
    if (first === undefined) throw new RangeError('the head has one row');
    return { ...serverOf(first), found: first.id === null ? [] : rows };
  }

  private finder(resource: Queried<object>): (ref: Ref) => Promise<AtHead<object | undefined> | undefined> {
    const { idPrefix, condition = 'true' } = resource;
    const table = tableOf(resource);
    const entityOf = entitiesOfJson(table);
    const columns = table.columns.filter((column) => column !== 'account_id' && column !== 'id');
    const text = `with ${SEEN}
      select wanted.account_id, wanted.id, seen.*, coalesce(h.size::float8, 0) as head, t.id is not null as is_found,
        ${columns.map((column) => `t.${column}`).join(', ')}
      from ${REFS} cross join seen
        left join log_heads h on h.account_id = wanted.account_id and by_index(h.account_id)
        left join ${table.name} t on t.account_id = wanted.account_id and t.id = wanted.id and ${condition} and by_index(t.id)`;
    const statement = { name: `${idPrefix}_by_ids_at_head`, text };
    return coalescedByRef<FoundRow, AtHead<object | undefined>>(
      this.pool,
      statement,
      (row) => ({ ...serverOf(row), found: row.is_found ? entityOf(row) : undefined }),
      this.limits,
    );
  }
}

type FoundRow = RefRow & AnswerAtHead & { readonly is_found: boolean };

const serverOf = ({ log_identity, is_standby, head }: AnswerAtHead): AnswerAtHead => ({
  log_identity,
  is_standby,
  head,
});
