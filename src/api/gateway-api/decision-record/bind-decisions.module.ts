import { Module } from '@nestjs/common';
import { BindDecisionsController } from './bind-decisions.controller.js';
import { BindDecisions } from './bind-decisions.js';

/** The record of bind decisions. It stays readable when the operator takes the gateway tokens away. */
@Module({
  controllers: [BindDecisionsController],
  providers: [BindDecisions],
})
export class BindDecisionsModule {}
