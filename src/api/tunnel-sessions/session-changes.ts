import type { Pool } from 'pg';
import { NewRows, type Ref } from '../../database/index.js';
import { firstIdOf } from '../../kernel/ids.js';
import { ChangeStreams, STREAM_LIMITS } from '../gateway-api/revocations/change-streams.js';
import { MAX_LATE_MS } from '../gateway-api/sessions/session-ends.js';

/** Beyond this many changes at once, readers list the sessions anew. */
const MAX_CHANGES = 20_000;
/** One query of each instance while somebody listens. */
const POLL_EVERY_MS = 500;
/** The changes of a whole gateway, for a slow reader. */
const MAX_UNREAD_BYTES = 16 * 1024 * 1024;
/** Of one instance. One query serves them all. */
const MAX_STREAMS = 1_000;
/** Of one user or bot, so that no member takes those of the auditors. */
const MAX_STREAMS_OF_USER = 5;
/** Clocks of instances may differ by this. */
const MAX_SKEW_MS = 3_600_000;

/** A session that opened or ended, or whose key is live from two sources. */
export interface ChangedSession extends Ref {
  readonly name: 'opened' | 'doubled' | 'ended';
  readonly ownerId: string;
  readonly data: object;
}

/** As all other answers show a time. */
const timeOf = (column: string): string => `to_char(${column} at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`;
const SHOWN = `'account_id', account_id, 'credential_id', credential_id, 'owner_id', owner_id, 'gateway_id', gateway_id,
  'gateway_name', gateway_name, 'source', source, 'client', client, 'started_at', ${timeOf('started_at')}, 'bytes_in', bytes_in,
  'bytes_out', bytes_out, 'connections', connections`;
const OF_SESSION = `account_id as "accountId", owner_id as "ownerId"`;
/** $2: no new record has an earlier id. */
const ended = (isNew: string): string => `select 'ended' as name, ${OF_SESSION}, session_id as id,
    json_build_object('session_id', session_id, ${SHOWN}, 'ended_at', ${timeOf('ended_at')}, 'reason', reason) as data
  from tunnel_session_records where id >= $2 and ${isNew}`;
const opened = (isNew: string): string => `select case when doubled then 'doubled' else 'opened' end, ${OF_SESSION}, id,
    json_build_object('session_id', id, ${SHOWN})
  from tunnel_sessions where ${isNew}`;

/** Finds the sessions of all accounts that opened or ended: no event of the log says it. */
export class SessionChanges extends NewRows<ChangedSession> {
  constructor(pool: Pool, warn?: (message: string) => void) {
    const source = {
      name: 'session_changes',
      // Ends come first: a session that has ended and is open was lost for a while.
      selects: [ended, opened],
      maxRows: MAX_CHANGES,
      pollEveryMs: POLL_EVERY_MS,
      values: () => [firstIdOf('tsr', new Date(Date.now() - MAX_LATE_MS - MAX_SKEW_MS))],
    };
    super(pool, source, warn);
  }
}

/** Tells of the sessions that opened and ended. */
export class SessionChangeStreams extends ChangeStreams<ChangedSession, ChangedSession> {
  constructor(changes: Pick<SessionChanges, 'add' | 'remove'>, warn: (message: string) => void) {
    super(changes, warn, {
      ...STREAM_LIMITS,
      maxStreams: MAX_STREAMS,
      maxStreamsOfToken: MAX_STREAMS_OF_USER,
      maxUnreadBytes: MAX_UNREAD_BYTES,
    });
  }

  protected concerns(): boolean {
    return true;
  }

  async changedBy(sessions: readonly ChangedSession[]): Promise<readonly ChangedSession[]> {
    return sessions;
  }

  protected eventsOf(sessions: readonly ChangedSession[]): readonly ChangedSession[] {
    return sessions;
  }
}
