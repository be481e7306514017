import type { Pool } from 'pg';
import { onPrimary, type Ref } from '../../database/index.js';
import { firstIdOf } from '../../kernel/ids.js';
import { ChangeStreams, STREAM_LIMITS, type StreamEvent } from '../gateway-api/revocations/change-streams.js';
import type { ChangeWatch } from '../gateway-api/revocations/change-watch.js';
import { changesSince, type NewChanges, type Watermark } from '../gateway-api/revocations/watermark.js';

/** Beyond this many changes at once, readers list the sessions anew. */
const MAX_CHANGES = 20_000;
/** The changes of a whole gateway, for a slow reader. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** Of one instance. One query serves them all. */
const MAX_STREAMS = 1_000;
/** Of one user or bot, so that no member takes those of the auditors. */
const MAX_STREAMS_OF_USER = 5;
/** An end is told if it is not older than this: its record is in one of the newest partitions. */
const MAX_AGE_MS = 2 * 86_400_000;

/** A session that opened or ended. */
export interface ChangedSession extends Ref {
  readonly name: 'opened' | 'ended';
  readonly ownerId: string;
  readonly data: object;
}

/** Two look-ups by the index of transactions. The second finds those that were in progress at the last look. */
const newRows = (columns: string, from: string, where: string): string => `
      select ${columns} from ${from} where ${where} and r.transaction_id >= pg_snapshot_xmax($1::pg_snapshot)
        and r.transaction_id < (select pg_snapshot_xmax(snapshot) from moment)
      union all
      select ${columns} from ${from} where ${where}
        and r.transaction_id = any(array(select pg_snapshot_xip($1::pg_snapshot)))
      limit ${MAX_CHANGES + 1}`;
const SHOWN = `'account_id', r.account_id, 'credential_id', r.credential_id, 'owner_id', r.owner_id,
  'gateway_id', r.gateway_id, 'gateway_name', r.gateway_name, 'source', r.source, 'client', r.client,
  'started_at', r.started_at, 'bytes_in', r.bytes_in, 'bytes_out', r.bytes_out, 'connections', r.connections`;
const OPENED = `r.account_id, r.id, r.owner_id, json_build_object('session_id', r.id, ${SHOWN}) as data`;
const ENDED = `r.account_id, r.session_id as id, r.owner_id, json_build_object('session_id', r.session_id, ${SHOWN},
  'ended_at', r.ended_at, 'reason', r.reason) as data`;

/**
 * $1: snapshot of the last look; null for the first look, which finds no change. A row is new if its transaction was not
 * seen then. $2: the oldest id of a record that is looked for.
 */
const CHANGES = onPrimary({
  name: 'session_changes',
  text: `with moment as materialized (select pg_current_snapshot() as snapshot, clock_timestamp() as now),
    opened as materialized (${newRows(OPENED, 'tunnel_sessions r', 'true')}),
    ended as materialized (${newRows(ENDED, 'tunnel_session_records r', 'r.id >= $2')})
    select snapshot::text, pg_postmaster_start_time()::text as server, now::text,
      (select count(*) from opened) + (select count(*) from ended) > ${MAX_CHANGES} as "isTooMany",
      (select coalesce(json_agg(one), '[]') from (
        select json_build_object('name', 'opened', 'accountId', account_id, 'id', id, 'ownerId', owner_id, 'data', data) as one
          from opened
        union all
        select json_build_object('name', 'ended', 'accountId', account_id, 'id', id, 'ownerId', owner_id, 'data', data)
          from ended) as both_kinds) as changed
    from moment`,
});

/** Finds the sessions of all accounts that opened or ended since a moment. */
export class SessionChanges {
  constructor(private readonly pool: Pool) {}

  since(last: Watermark | undefined): Promise<NewChanges<ChangedSession>> {
    const oldest = firstIdOf('tsr', new Date(Date.now() - MAX_AGE_MS));
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
