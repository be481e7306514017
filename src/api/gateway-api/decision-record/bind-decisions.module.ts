import { Module } from '@nestjs/common';
import { BindDecisionsController } from './bind-decisions.controller.js';
import { BindDecisions } from './bind-decisions.js';
import { CredentialUsageController } from './credential-usage.controller.js';
import { CredentialUsage } from './credential-usage.js';

/** The record of bind decisions. It stays readable when the operator takes the gateway tokens away. */
@Module({
  controllers: [BindDecisionsController, CredentialUsageController],
  providers: [BindDecisions, CredentialUsage],
})
export class BindDecisionsModule {}
