import { Module } from '@nestjs/common';
import { ReservedNames } from '../../reservations/reserved-names.js';
import { EdgeChecksController } from '../edges/edge-checks.controller.js';
import { EdgePolicies } from '../edges/edge-policies.js';
import { CheckTurns } from './check-turns.js';
import { ChecksController } from './checks.controller.js';
import { CredentialCheck } from './credential-check.js';

/**
 * A service without gateways has these routes too: its callers may write rules before they run a gateway. The checks have
 * look-ups of reservations of their own, so that no caller holds up the answers to gateways.
 */
@Module({
  controllers: [ChecksController, EdgeChecksController],
  providers: [CheckTurns, EdgePolicies, ReservedNames, CredentialCheck],
})
export class ChecksModule {}
