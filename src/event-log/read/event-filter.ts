import { type Connections, PostgresFailure, queryNamed } from '../../database/index.js';
import { Problem } from '../../kernel/problem.js';

/** A range of positions of an account's log: after `after`, up to and including `upTo`. */
export interface Span {
  readonly after: number;
  readonly upTo: number;
}

/** Selects events. An absent field matches every event. */
export interface EventFilter {
  readonly streamId?: string;
  readonly type?: string;
  readonly actor?: string;
}

export const isEmpty = ({ streamId, type, actor }: EventFilter): boolean =>
  streamId === undefined && type === undefined && actor === undefined;

/** A span up to this length is read whole, by position. A live feed asks for such spans. */
const SHORT_SPAN = 1_000;

// Each statement takes the account, the span and the maximum, and finds the positions by one index. Its row comparisons
// and its order are those of the index.
const IN_SHORT_SPAN = {
  name: 'positions_in_short_span',
  text: `select e.position::float8 as position from events e
    where e.account_id = $1 and e.position > $2 and e.position <= $3 and ($5::text is null or e.stream_id = $5)
      and ($6::text is null or e.type = $6) and ($7::text is null or event_actor(e.metadata) = $7)
    order by e.position limit $4`,
};
/** `+ 0` keeps PostgreSQL from reading the whole span by position if it expects few events there. */
const OF_STREAM = {
  name: 'positions_of_stream',
  text: `select e.position::float8 as position from events e
    where e.account_id = $1 and e.stream_id = $5 and e.position + 0 > $2 and e.position + 0 <= $3
      and ($6::text is null or e.type = $6) and ($7::text is null or event_actor(e.metadata) = $7)
    order by e.stream_version limit $4`,
};
const OF_TYPE = {
  name: 'positions_of_type',
  text: `select e.position::float8 as position from events e
    where e.account_id = $1 and (e.type, e.position) > ($5, $2::bigint) and (e.type, e.position) <= ($5, $3::bigint)
    order by e.type, e.position limit $4`,
};
/** The index has the type before the position, so this looks up the types of the actor one after the other. */
const OF_ACTOR = {
  name: 'positions_of_actor',
  text: `with recursive types(type) as (
      select coalesce($6::text, '')
      union all
      select (select e.type from events e where e.account_id = $1 and (event_actor(e.metadata), e.type) > ($5, t.type)
        and event_actor(e.metadata) <= $5 order by event_actor(e.metadata), e.type limit 1)
      from types t where t.type is not null and $6::text is null)
    select found.position::float8 as position from types t cross join lateral (
      select e.position from events e
      where e.account_id = $1 and (event_actor(e.metadata), e.type, e.position) > ($5, t.type, $2::bigint)
        and (event_actor(e.metadata), e.type, e.position) <= ($5, t.type, $3::bigint)
      order by event_actor(e.metadata), e.type, e.position limit $4) found
    order by found.position limit $4`,
};

/** The first `max` positions of a span whose events match the filter. */
export async function matchingPositions(
  connections: Connections,
  accountId: string,
  { after, upTo }: Span,
  { streamId = null, type = null, actor = null }: { [Field in keyof EventFilter]: EventFilter[Field] | null },
  max: number,
): Promise<number[]> {
  const find = async (statement: typeof OF_STREAM, ...filters: (string | null)[]): Promise<number[]> => {
    const values = [accountId, after, upTo, max, ...filters];
    const { rows } = await queryNamed<{ position: number }>(connections, statement, values).catch((error: unknown) => {
      throw PostgresFailure.of(error).isAboutData ? actorUnreadable({ after, upTo }) : error;
    });
    return rows.map(({ position }) => position);
  };
  if (upTo - after <= SHORT_SPAN) return find(IN_SHORT_SPAN, streamId, type, actor);
  if (streamId !== null) return find(OF_STREAM, streamId, type, actor);
  if (actor !== null) return find(OF_ACTOR, actor, type);
  return find(OF_TYPE, type);
}

/** The error if PostgreSQL cannot read the actor of an event. PostgreSQL does not say which event it is. */
const actorUnreadable = ({ after, upTo }: Span): Problem =>
  new Problem(
    'event_unreadable',
    `The metadata of an event after position ${after} and up to ${upTo} is not JSON, so events of an actor cannot be ` +
      'found. The service did not write it in this form: the operator finds its position with `audit verify`.',
  );
