import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../database/database.js';
import { EdgeModulesController } from './edge-modules.controller.js';
import { HostportClaims } from './hostport-claims.js';
import { TcpEdgesController } from './tcp-edges.controller.js';
import { CreateTcpEdgeHandler, DeleteTcpEdgeHandler, UpdateTcpEdgeHandler } from './tcp-edges.handlers.js';
import { EdgesByHostport } from './tcp-edges.read-model.js';

@Module({
  controllers: [TcpEdgesController, EdgeModulesController],
  providers: [
    { provide: EdgesByHostport, useFactory: (pool: Pool) => new EdgesByHostport(pool), inject: [POOL] },
    HostportClaims,
    CreateTcpEdgeHandler,
    UpdateTcpEdgeHandler,
    DeleteTcpEdgeHandler,
  ],
})
export class TcpEdgesModule {}
