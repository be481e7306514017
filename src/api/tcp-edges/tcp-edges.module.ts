import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { EDGE_MODULE_CONTROLLERS } from './edge-modules.controller.js';
import { HostportClaims } from './hostport-claims.js';
import { TcpEdgesController } from './tcp-edges.controller.js';
import { TCP_EDGE_HANDLERS } from './tcp-edges.handlers.js';
import { EdgesByHostport } from './tcp-edges.read-model.js';

@Module({
  controllers: [TcpEdgesController, ...EDGE_MODULE_CONTROLLERS],
  providers: [
    // A read model knows no Nest, which the operator's commands would load with it.
    { provide: EdgesByHostport, useFactory: (pool: Pool) => new EdgesByHostport(pool), inject: [POOL] },
    HostportClaims,
    ...TCP_EDGE_HANDLERS,
  ],
})
export class TcpEdgesModule {}
