import type { Pool } from 'pg';
import { onPrimary, type Ref } from '../../database/index.js';
import { firstIdOf } from '../../kernel/ids.js';
import { ChangeStreams, STREAM_LIMITS, type StreamEvent } from '../gateway-api/revocations/change-streams.js';
import type { ChangeWatch } from '../gateway-api/revocations/change-watch.js';
import {
  BEGAN_LATER,
  changesSince,
  type NewChanges,
  WAS_IN_PROGRESS,
  type Watermark,
} from '../gateway-api/revocations/watermark.js';
import { MAX_LATE_MS } from '../gateway-api/sessions/session-ends.js';

/** Beyond this many changes at once, readers list the sessions anew. */
const MAX_CHANGES = 20_000;
/** The changes of a whole gateway, for a slow reader. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** Of one instance. One query serves them all. */
const MAX_STREAMS = 1_000;
/** Of one user or bot, so that no member takes those of the auditors. */
const MAX_STREAMS_OF_USER = 5;
/** Clocks of instances may differ by this. */
const MAX_SKEW_MS = 3_600_000;

/** A session that opened or ended. */
export interface ChangedSession extends Ref {
  readonly name: 'opened' | 'ended';
  readonly ownerId: string;
  readonly data: object;
}

const SHOWN = `'account_id', account_id, 'credential_id', credential_id, 'owner_id', owner_id, 'gateway_id', gateway_id,
  'gateway_name', gateway_name, 'source', source, 'client', client, 'started_at', started_at, 'bytes_in', bytes_in,
  'bytes_out', bytes_out, 'connections', connections`;
const OPENED = `account_id, id, owner_id, json_build_object('session_id', id, ${SHOWN}) as data`;
const ENDED = `account_id, session_id as id, owner_id,
  json_build_object('session_id', session_id, ${SHOWN}, 'ended_at', ended_at, 'reason', reason) as data`;

/**
 * $1: snapshot of the last look; null for the first look, which finds no change. $2: no new record has an earlier id.
 * Ends come first: a session that has ended and is open was lost for a while.
 */
const CHANGES = onPrimary({
  name: 'session_changes',
  text: `with moment as materialized (select pg_current_snapshot() as snapshot, clock_timestamp() as now),
    ended as materialized (
      select ${ENDED} from tunnel_session_records where id >= $2 and ${BEGAN_LATER}
      union all
      select ${ENDED} from tunnel_session_records where id >= $2 and ${WAS_IN_PROGRESS}
      limit ${MAX_CHANGES + 1}),
    opened as materialized (
      select ${OPENED} from tunnel_sessions where ${BEGAN_LATER}
      union all
      select ${OPENED} from tunnel_sessions where ${WAS_IN_PROGRESS}
      limit ${MAX_CHANGES + 1})
    select snapshot::text, pg_postmaster_start_time()::text as server, now::text,
      (select count(*) from opened) + (select count(*) from ended) > ${MAX_CHANGES} as "isTooMany",
      (select coalesce(json_agg(one), '[]') from (
        select json_build_object('name', 'ended', 'accountId', account_id, 'id', id, 'ownerId', owner_id, 'data', data) as one
          from ended
        union all
        select json_build_object('name', 'opened', 'accountId', account_id, 'id', id, 'ownerId', owner_id, 'data', data)
          from opened) as both_kinds) as changed
    from moment`,
});

/** Finds the sessions of all accounts that opened or ended since a moment. */
export class SessionChanges {
  constructor(private readonly pool: Pool) {}

  since(last: Watermark | undefined): Promise<NewChanges<ChangedSession>> {
    const oldest = firstIdOf('tsr', new Date(Date.now() - MAX_LATE_MS - MAX_SKEW_MS));
    return changesSince(this.pool, CHANGES, [last?.snapshot ?? null, oldest], last);
  }
}

/** A class of its own, so that it can be injected. */
export class SessionChangeStreams extends ChangeStreams<ChangedSession> {
  constructor(watch: ChangeWatch<ChangedSession>) {
    super(watch, sessionEvents, {
      ...STREAM_LIMITS,
      maxStreams: MAX_STREAMS,
      maxStreamsOfToken: MAX_STREAMS_OF_USER,
      maxUnreadBytes: MAX_UNREAD_BYTES,
    });
  }
}

function* sessionEvents(changed: readonly ChangedSession[]): Generator<StreamEvent> {
  for (const { name, data } of changed) yield { name, data };
}
