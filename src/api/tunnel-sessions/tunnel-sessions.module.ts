import { Module } from '@nestjs/common';
import { OpenSessions } from './open-sessions.js';
import { TunnelSessionsController } from './tunnel-sessions.controller.js';
import { TUNNEL_SESSION_HANDLERS } from './tunnel-sessions.handlers.js';
import { TunnelsController } from './tunnels.controller.js';

/** What is open stays readable when the operator takes the gateway tokens away, until it ends. */
@Module({
  controllers: [TunnelSessionsController, TunnelsController],
  providers: [OpenSessions, ...TUNNEL_SESSION_HANDLERS],
})
export class TunnelSessionsModule {}
