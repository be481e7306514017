import type { ClientBase } from 'pg';
import { fetchRows } from '../../database/index.js';
import type { AnyReadModel, EventFacts } from '../read-model.js';

export interface StreamFault {
  readonly position: string;
  readonly what: string;
}

/**
 * Checks the streams of an account, and yields faults in the order of positions. The versions of a stream must be 1, 2,
 * 3 and so on in the order of positions, a creation must come first, and nothing may follow the deletion. PostgreSQL
 * does this, because a map of all streams would grow with the log.
 */
export async function* streamFaults(
  client: ClientBase,
  models: readonly AnyReadModel[],
  account: string,
): AsyncGenerator<StreamFault> {
  await client.query(IN_STREAM_ORDER);
  const values = [account, typesWith(models, 'isStart'), typesWith(models, 'isEnd')];
  for await (const rows of fetchRows<FaultyEvent>(client, FAULTY_EVENTS, values)) {
    for (const row of rows) yield { position: row.position, what: streamFaultOf(row) };
  }
}

export const typesWith = (models: readonly AnyReadModel[], fact: keyof EventFacts): string[] =>
  models.flatMap(({ events }) =>
    Object.entries<EventFacts>(events).flatMap(([type, facts]) => (facts[fact] === true ? [type] : [])),
  );

interface StreamFacts {
  readonly type: string;
  readonly follows: boolean;
  readonly starts: boolean;
  readonly follows_end: boolean;
}

type FaultyEvent = StreamFacts & Readonly<Record<'position', string>>;

/** Says what is wrong with an event that has these facts. */
export function streamFaultOf({ type, follows, starts, follows_end }: StreamFacts): string {
  if (!follows) return 'its stream_version does not follow the previous one of its stream';
  if (follows_end) return `an event of type ${type} comes after the deletion of its stream`;
  return starts ? `a second event of type ${type} in its stream` : `its stream begins with an event of type ${type}`;
}

/** The index events_stream_version has this order. */
const IN_STREAM_ORDER = 'set local enable_seqscan = off; set local enable_bitmapscan = off';

const FAULTY_EVENTS = `
  select position::text, type, follows, starts, follows_end from (
    select position, type, type = any ($2::text[]) as starts, version_before is null as is_first,
      stream_version = coalesce(version_before, 0) + 1 and position > coalesce(position_before, 0) as follows,
      coalesce(type_before = any ($3::text[]), false) as follows_end
    from (
      select position, type, stream_version, lag(position) over stream as position_before,
        lag(stream_version) over stream as version_before, lag(type) over stream as type_before
      from events where account_id = $1 window stream as (partition by stream_id order by stream_version)) e) e
  where not follows or follows_end or starts <> is_first order by e.position`;
