import { Module } from '@nestjs/common';
import { PolicyReader } from '../../../rules/index.js';
import { ReservedNames } from '../../reservations/reserved-names.js';
import { EdgeChecksController } from '../edges/edge-checks.controller.js';
import { EdgePolicies } from '../edges/edge-policies.js';
import { ReadEdges } from '../edges/read-edges.js';
import { CheckLimit } from './check-limit.js';
import { ChecksController } from './checks.controller.js';
import { CredentialCheck } from './credential-check.js';
import { TrafficPolicyChecksController } from './traffic-policy-checks.controller.js';

/**
 * A service without gateways has these routes too: its callers may write rules before they run a gateway. What the checks
 * look up and keep is their own, so that no caller holds up or evicts what gateways need.
 */
@Module({
  controllers: [ChecksController, EdgeChecksController, TrafficPolicyChecksController],
  providers: [
    CheckLimit,
    EdgePolicies,
    ReadEdges,
    ReservedNames,
    { provide: PolicyReader, useFactory: () => new PolicyReader() },
    CredentialCheck,
  ],
})
export class ChecksModule {}
