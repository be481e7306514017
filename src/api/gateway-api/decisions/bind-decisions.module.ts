import { Module } from '@nestjs/common';
import { AuditReads, POOL } from '../../../database/index.js';
import { providerOf } from '../../resources/provider-of.js';
import { BindDecisionRetention } from './bind-decision-retention.js';
import { BindDecisionsController } from './bind-decisions.controller.js';
import { BindDecisions } from './bind-decisions.js';
import { CredentialUsageController } from './credential-usage.controller.js';
import { CredentialUsage } from './credential-usage.js';
import { GatewayPolicy } from './gateway-policy.js';

/** The record of bind decisions. It stays readable when the operator takes the gateway tokens away. */
@Module({
  controllers: [BindDecisionsController, CredentialUsageController],
  providers: [
    providerOf(BindDecisions, AuditReads),
    providerOf(CredentialUsage, POOL),
    providerOf(BindDecisionRetention, POOL, GatewayPolicy),
  ],
})
export class BindDecisionsModule {}
