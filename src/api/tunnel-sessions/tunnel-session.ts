import { Problem } from '../../kernel/problem.js';

/** Storage format: the log holds this type. For any other change than an optional field add a new version. */
export interface TunnelSessionEvent {
  readonly type: 'tunnel_session_stopped.v1';
  readonly data: StoppedSession;
}

/** What the log knows of a session: gateways report the rest, and no event makes that. */
export interface StoppedSession {
  /** Whether the client is to come back at once. */
  readonly restart: boolean;
  readonly credential_id: string;
}

/** The same for a session that has ended, that is unknown, or that the caller may not see. */
export const sessionNotFound = (): Problem => new Problem('not_found', 'Resource not found');

/** A session that was stopped already is not stopped again; one that was told to restart may still be stopped. */
export const stop = (stopped: StoppedSession | undefined, wanted: StoppedSession): readonly TunnelSessionEvent[] =>
  stopped !== undefined && (!stopped.restart || wanted.restart)
    ? []
    : [{ type: 'tunnel_session_stopped.v1', data: wanted }];
