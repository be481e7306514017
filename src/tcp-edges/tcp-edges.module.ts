import { Module } from '@nestjs/common';
import { POOL } from '../database/database.js';
import { providerOf } from '../resources/provider-of.js';
import { EdgeModulesController } from './edge-modules.controller.js';
import { HostportClaims } from './hostport-claims.js';
import { TcpEdgesController } from './tcp-edges.controller.js';
import { CreateTcpEdgeHandler, DeleteTcpEdgeHandler, UpdateTcpEdgeHandler } from './tcp-edges.handlers.js';
import { EdgesByHostport } from './tcp-edges.read-model.js';

@Module({
  controllers: [TcpEdgesController, EdgeModulesController],
  providers: [
    providerOf(EdgesByHostport, POOL),
    HostportClaims,
    CreateTcpEdgeHandler,
    UpdateTcpEdgeHandler,
    DeleteTcpEdgeHandler,
  ],
})
export class TcpEdgesModule {}
