import type { ReadModel } from '../../event-log/index.js';
import type { StoppedSession, TunnelSessionEvent } from './tunnel-session.js';

/** It has no table: what is open is known from gateways, and a stop is read from the log. */
export const tunnelSessionsReadModel: ReadModel<StoppedSession, TunnelSessionEvent> = {
  streamPrefixes: ['ts'],
  events: { 'tunnel_session_stopped.v1': { isStart: true } },
  evolve: (_, { data }) => data,
  tables: [],
};
