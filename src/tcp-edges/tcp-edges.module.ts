import { Module } from '@nestjs/common';
import { POOL } from '../database/database.js';
import { EdgeModulesController } from './edge-modules.controller.js';
import { HostportClaims } from './hostport-claims.js';
import { CreateTcpEdgeHandler, DeleteTcpEdgeHandler, UpdateTcpEdgeHandler } from './tcp-edges.commands.js';
import { TcpEdgesController } from './tcp-edges.controller.js';
import { TcpEdges } from './tcp-edges.read-model.js';

@Module({
  controllers: [TcpEdgesController, EdgeModulesController],
  providers: [
    { provide: TcpEdges, useFactory: (pool) => new TcpEdges(pool), inject: [POOL] },
    HostportClaims,
    CreateTcpEdgeHandler,
    UpdateTcpEdgeHandler,
    DeleteTcpEdgeHandler,
  ],
})
export class TcpEdgesModule {}
