import { Module } from '@nestjs/common';
import { POOL } from '../../database/index.js';
import { providerOf } from '../resources/provider-of.js';
import { EDGE_MODULE_CONTROLLERS } from './edge-modules.controller.js';
import { HostportClaims } from './hostport-claims.js';
import { TcpEdgesController } from './tcp-edges.controller.js';
import { TCP_EDGE_HANDLERS } from './tcp-edges.handlers.js';
import { EdgesByHostport } from './tcp-edges.read-model.js';

@Module({
  controllers: [TcpEdgesController, ...EDGE_MODULE_CONTROLLERS],
  providers: [providerOf(EdgesByHostport, POOL), HostportClaims, ...TCP_EDGE_HANDLERS],
})
export class TcpEdgesModule {}
