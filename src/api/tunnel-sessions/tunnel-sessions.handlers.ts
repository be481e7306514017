import { Command, CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import type { Answer } from '../http/answer.js';
import type { RequestContext } from '../http/request-context.js';
import { mayReadPrivate, refuseUnlessMayChange, refuseUnlessOwnerOrAdmin } from '../resources/access-rules.js';
import { Changes } from '../resources/changes.js';
import { OpenSessions } from './open-sessions.js';
import { type StoppedSession, sessionNotFound, stop } from './tunnel-session.js';
import { STOPPED_SESSIONS } from './tunnel-sessions.resource.js';

export class StopTunnelSession extends Command<Answer> {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    /** Whether the client is to come back at once. */
    readonly restart: boolean,
  ) {
    super();
  }
}

@CommandHandler(StopTunnelSession)
class StopTunnelSessionHandler implements ICommandHandler<StopTunnelSession> {
  constructor(
    private readonly changes: Changes,
    private readonly sessions: OpenSessions,
  ) {}

  execute({ context, id, restart }: StopTunnelSession) {
    const decide = async (stopped: StoppedSession | undefined, { caller }: RequestContext) => {
      const session = await this.sessions.findSession({ accountId: caller.accountId, id });
      if (session === undefined || !mayReadPrivate(caller, session)) throw sessionNotFound();
      refuseUnlessMayChange(caller);
      refuseUnlessOwnerOrAdmin(caller, session, 'tunnel session');
      return stop(stopped, { restart, credential_id: session.credential_id });
    };
    return this.changes.apply(STOPPED_SESSIONS, context, id, decide);
  }
}

export const TUNNEL_SESSION_HANDLERS = [StopTunnelSessionHandler];
