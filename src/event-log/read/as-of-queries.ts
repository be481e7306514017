import { type Connections, queryNamed } from '../../database/index.js';
import type { DomainEvent } from '../event.js';
import type { AnyReadModel, Entity, EventFacts, ReadModel } from '../read-model.js';
import { LogReader } from './log-reader.js';
import { foldRecorded } from './recorded-event.js';

/** A page of the entities at a log position, newest first: at most `max` entities older than `beforeId`. */
interface AsOfPage {
  readonly accountId: string;
  readonly idPrefix: string;
  readonly beforeId: string | null;
  readonly max: number;
  readonly position: number;
  /** Narrows the search. Absent: each entity of the account is folded until the page is full. */
  readonly narrowing?: Narrowing | undefined;
}

/** Finds the rows `t` of now by a field that no event changes. $1: account, $2: older than this id, $4: the value. */
interface Narrowing {
  readonly table: string;
  /** The order is newest first. */
  readonly filter: { readonly name: string; readonly rows: string; readonly order: string };
  readonly value: string;
}

/** Streams that one query selects; most of their entities still exist. */
const STREAMS_PER_QUERY = 100;

/** Leaves out the streams that had ended by then. */
const STREAMS_BEFORE = {
  name: 'streams_before',
  text: `select stream_id as id from events e
    where account_id = $1 and stream_id < $2 and stream_id > $3 and stream_version = 1 and position <= $5
      and (select last.type from events last where last.account_id = $1 and last.stream_id = e.stream_id
        and last.position <= $5 order by last.stream_version desc limit 1) <> all($4)
    order by stream_id desc limit ${STREAMS_PER_QUERY}`,
};

/** A scalar, so that the planner looks it up for each row that it has found, and never begins with it. */
const beganBefore = (id: string): string =>
  `(select began.position from events began
    where began.account_id = $1 and began.stream_id = ${id} and began.stream_version = 1) <= $5`;

/**
 * An entity that a fixed filter selected at the position is still selected, or it has ended since. Both parts are of one
 * snapshot, so no entity leaves the one and misses the other, and none is in both. The index of ends is events_ends.
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
    { accountId, idPrefix, beforeId, max, position, narrowing }: AsOfPage,
    isVisible: (entity: Entity<State>) => boolean,
  ): Promise<Entity<State>[]> {
    const found: Entity<State>[] = [];
    const endTypes = endTypesOf(model);
    const streams = narrowing === undefined ? STREAMS_BEFORE : narrowedStreams(narrowing, endTypes);
    // Sorts after every id with this prefix.
    let before = beforeId ?? `${idPrefix}_~`;
    while (found.length < max) {
      const values = [accountId, before, `${idPrefix}_`, narrowing?.value ?? endTypes, position];
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
