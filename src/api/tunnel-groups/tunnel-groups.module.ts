import { Module } from '@nestjs/common';
import { OpenTunnelsOfGroups } from './open-tunnels.js';
import { TunnelGroupsController } from './tunnel-groups.controller.js';
import { TUNNEL_GROUP_HANDLERS } from './tunnel-groups.handlers.js';

/** What the handlers need besides, such as `Changes`, comes from the global AppModule. */
@Module({ controllers: [TunnelGroupsController], providers: [OpenTunnelsOfGroups, ...TUNNEL_GROUP_HANDLERS] })
export class TunnelGroupsModule {}
