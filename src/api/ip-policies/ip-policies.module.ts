import { Module } from '@nestjs/common';
import { POOL } from '../../database/index.js';
import { providerOf } from '../resources/provider-of.js';
import { IpPoliciesController } from './ip-policies.controller.js';
import { IP_POLICY_HANDLERS } from './ip-policies.handlers.js';
import { IpPolicyRulesController } from './ip-policy-rules.controller.js';
import { IP_POLICY_RULE_HANDLERS } from './ip-policy-rules.handlers.js';
import { RulesOfPolicies } from './ip-policy-rules.read-model.js';

@Module({
  controllers: [IpPoliciesController, IpPolicyRulesController],
  providers: [providerOf(RulesOfPolicies, POOL), ...IP_POLICY_HANDLERS, ...IP_POLICY_RULE_HANDLERS],
})
export class IpPoliciesModule {}
