import { type Connections, queryNamed } from '../../database/index.js';
import type { DomainEvent } from '../event.js';
import type { AnyReadModel, Entity, EventFacts, ReadModel } from '../read-model.js';
import { LogReader } from './log-reader.js';
import { foldRecorded } from './recorded-event.js';

/** A page of entities at a log position: at most `max` entities that are older than `beforeId`, newest first. */
interface AsOfPage {
  readonly accountId: string;
  readonly idPrefix: string;
  readonly beforeId: string | null;
  readonly max: number;
  readonly position: number;
  /** Selects entities by a fixed field. Absent: all entities of the account are folded until the page is full. */
  readonly narrowing?: Narrowing | undefined;
  /** Selects entities whose first event has one of these texts, without an index. Only without `narrowing`. */
  readonly mentioned?: readonly string[];
}

/**
 * Finds the present rows `t` by a field that no event changes. $1 is the account, ids are less than $2, and $4 is the
 * value.
 */
interface Narrowing {
  readonly table: string;
  /** The order is newest first. */
  readonly filter: { readonly name: string; readonly rows: string; readonly order: string };
  readonly value: string;
}

/** How many streams one query selects. */
const STREAMS_PER_QUERY = 100;

/** Streams that had begun at the position $5 and had not ended. $6: one of these texts is in their first event; null: any. */
const STREAMS_BEFORE = {
  name: 'streams_before',
  text: `select stream_id as id from events e
    where account_id = $1 and stream_id < $2 and stream_id > $3 and stream_version = 1 and position <= $5
      and (select last.type from events last where last.account_id = $1 and last.stream_id = e.stream_id
        and last.position <= $5 order by last.stream_version desc limit 1) <> all($4)
      and ($6::text[] is null or exists (select from unnest($6::text[]) as t(text) where strpos(e.data, t.text) > 0))
    order by stream_id desc limit ${STREAMS_PER_QUERY}`,
};

/** A scalar subquery, so that PostgreSQL evaluates it for each row that it has found, and does not begin with it. */
const beganBefore = (id: string): string =>
  `(select began.position from events began
    where began.account_id = $1 and began.stream_id = ${id} and began.stream_version = 1) <= $5`;

/**
 * An entity that the filter selects at the position is selected now too, or has ended since then. Both parts read one
 * snapshot, so each entity is in exactly one of them. The second part uses the index events_ends.
 */
const narrowedStreams = ({ table, filter: { name, rows, order } }: Narrowing, endTypes: readonly string[]) => ({
  name: `${table}_before_by_${name}`,
  text: `(select t.id from ${table} t where ${rows} and ${beganBefore('t.id')}
      order by ${order} limit ${STREAMS_PER_QUERY})
    union all (select e.stream_id from events e
      where e.account_id = $1 and e.stream_id < $2 and e.stream_id > $3 and e.position > $5
        and e.type in ('${endTypes.join("', '")}') and ${beganBefore('e.stream_id')}
      order by e.stream_id desc limit ${STREAMS_PER_QUERY})
    order by id desc limit ${STREAMS_PER_QUERY}`,
});

/** Lists the entities that existed at a log position, by folding the streams that began before it. */
export class AsOfQueries {
  private readonly log: LogReader;

  constructor(private readonly connections: Connections) {
    this.log = new LogReader(connections);
  }

  /** Returns the entities that `isVisible` accepts and that were not deleted at the position. */
  async list<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    { accountId, idPrefix, beforeId, max, position, narrowing, mentioned }: AsOfPage,
    isVisible: (entity: Entity<State>) => boolean,
  ): Promise<Entity<State>[]> {
    const found: Entity<State>[] = [];
    const endTypes = endTypesOf(model);
    const streams = narrowing === undefined ? STREAMS_BEFORE : narrowedStreams(narrowing, endTypes);
    // Greater than every id with this prefix.
    let before = beforeId ?? `${idPrefix}_~`;
    while (found.length < max) {
      const further = narrowing === undefined ? [endTypes, position, mentioned] : [narrowing.value, position];
      const values = [accountId, before, `${idPrefix}_`, ...further];
      const { rows } = await queryNamed<{ id: string }>(this.connections, streams, values);
      const ids = rows.map(({ id }) => id);
      const entities = await this.entitiesAt(model, accountId, ids, position);
      found.push(...entities.filter(isVisible));
      const last = ids.at(-1);
      if (last === undefined || ids.length < STREAMS_PER_QUERY) break;
      before = last;
    }
    return found.slice(0, max);
  }

  /** Returns the entities that are not deleted, newest first. */
  private async entitiesAt<State, Event extends DomainEvent>(
    model: ReadModel<State, Event>,
    accountId: string,
    ids: readonly string[],
    position: number,
  ): Promise<Entity<State>[]> {
    const entities = new Map<string, Entity<State> | undefined>();
    for await (const event of this.log.ofStreams(accountId, ids, position)) {
      entities.set(event.streamId, foldRecorded(model, entities.get(event.streamId), event));
    }
    return ids.flatMap((id) => entities.get(id) ?? []);
  }
}

const endTypesOf = ({ events }: Pick<AnyReadModel, 'events'>): string[] =>
  Object.entries<EventFacts>(events).flatMap(([type, { isEnd }]) => (isEnd === true ? [type] : []));
