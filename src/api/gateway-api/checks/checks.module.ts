import { Module } from '@nestjs/common';
import { EdgeChecksController } from '../edges/edge-checks.controller.js';
import { EdgePolicies } from '../edges/edge-policies.js';
import { ReadEdges } from '../edges/read-edges.js';
import { TrafficPolicies } from '../traffic-policies/traffic-policies.js';
import { CheckTurns } from './check-turns.js';
import { ChecksController } from './checks.controller.js';
import { CredentialCheck } from './credential-check.js';
import { TrafficPolicyChecksController } from './traffic-policy-checks.controller.js';

/**
 * A service without gateways has these routes too: its callers may write rules before they run a gateway. Its
 * TrafficPolicies are its own, so that no caller can evict what gateways need.
 */
@Module({
  controllers: [ChecksController, EdgeChecksController, TrafficPolicyChecksController],
  providers: [CheckTurns, EdgePolicies, ReadEdges, TrafficPolicies, CredentialCheck],
})
export class ChecksModule {}
