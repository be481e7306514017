import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/database.js';
import { SshCredentials } from '../../ssh-credentials/ssh-credentials.read-model.js';
import { BindDecisionsController } from './bind-decisions.controller.js';
import { BindDecisions } from './bind-decisions.js';
import { CredentialUsageController } from './credential-usage.controller.js';
import { CredentialUsage } from './credential-usage.js';
import { DecisionsRetention } from './decisions-retention.js';
import { GatewayPolicy } from './gateway-policy.js';

/** What was decided, for the account's admins: there also when no gateway may ask any more. */
@Module({
  controllers: [BindDecisionsController, CredentialUsageController],
  providers: [
    ...[BindDecisions, CredentialUsage, SshCredentials].map((queries) => ({
      provide: queries,
      useFactory: (pool: Pool) => new queries(pool),
      inject: [POOL],
    })),
    {
      provide: DecisionsRetention,
      useFactory: (pool: Pool, policy: GatewayPolicy) => new DecisionsRetention(pool, policy.decisionsRetentionDays),
      inject: [POOL, GatewayPolicy],
    },
  ],
})
export class BindDecisionsModule {}
