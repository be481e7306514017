import { Logger, Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { OpenSessions } from './open-sessions.js';
import { SessionChangesController } from './session-changes.controller.js';
import { SessionChangeStreams, SessionChanges } from './session-changes.js';
import { TunnelSessionsController } from './tunnel-sessions.controller.js';
import { TUNNEL_SESSION_HANDLERS } from './tunnel-sessions.handlers.js';
import { TunnelsController } from './tunnels.controller.js';

/** What is open stays readable when the operator takes the gateway tokens away, until it ends. */
@Module({
  // The changes come first, since their path would be an id otherwise.
  controllers: [SessionChangesController, TunnelSessionsController, TunnelsController],
  providers: [
    OpenSessions,
    {
      provide: SessionChangeStreams,
      useFactory: (pool: Pool) => {
        const warn = (message: string) => new Logger('TunnelSessions').warn(message);
        return new SessionChangeStreams(new SessionChanges(pool, warn), warn);
      },
      inject: [POOL],
    },
    ...TUNNEL_SESSION_HANDLERS,
  ],
})
export class TunnelSessionsModule {}
