import { Module } from '@nestjs/common';
import { EdgeChecksController } from '../edges/edge-checks.controller.js';
import { EdgePolicies } from '../edges/edge-policies.js';
import { CheckTurns } from './check-turns.js';
import { ChecksController } from './checks.controller.js';
import { CredentialCheck } from './credential-check.js';

/** Also for a service without gateways, whose rules wait for them. */
@Module({
  controllers: [ChecksController, EdgeChecksController],
  providers: [CheckTurns, EdgePolicies, CredentialCheck],
})
export class ChecksModule {}
