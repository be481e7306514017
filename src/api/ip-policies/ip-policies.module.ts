import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { IpPoliciesController } from './ip-policies.controller.js';
import { IP_POLICY_HANDLERS } from './ip-policies.handlers.js';
import { IpPolicyRulesController } from './ip-policy-rules.controller.js';
import { IP_POLICY_RULE_HANDLERS } from './ip-policy-rules.handlers.js';
import { RulesOfPolicies } from './ip-policy-rules.read-model.js';

@Module({
  controllers: [IpPoliciesController, IpPolicyRulesController],
  providers: [
    // A read model knows no Nest, which the operator's commands would load with it.
    { provide: RulesOfPolicies, useFactory: (pool: Pool) => new RulesOfPolicies(pool), inject: [POOL] },
    ...IP_POLICY_HANDLERS,
    ...IP_POLICY_RULE_HANDLERS,
  ],
})
export class IpPoliciesModule {}
