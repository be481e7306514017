import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/database.js';
import { GatewayPolicy } from '../bind-decisions/gateway-policy.js';
import { ChecksController } from './checks.controller.js';
import { CredentialCheck } from './credential-check.js';

/** Also for a service without gateways, whose rules wait for them. */
@Module({
  controllers: [ChecksController],
  providers: [
    {
      provide: CredentialCheck,
      useFactory: (pool: Pool, { deniedFingerprints }: GatewayPolicy) => new CredentialCheck(pool, deniedFingerprints),
      inject: [POOL, GatewayPolicy],
    },
  ],
})
export class ChecksModule {}
