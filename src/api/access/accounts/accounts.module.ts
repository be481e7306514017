import { Module } from '@nestjs/common';
import { BOT_USER_CONTROLLERS } from './bot-users.controller.js';
import { BOT_USER_HANDLERS } from './bot-users.handlers.js';
import { PendingRemovals } from './pending-removals.js';
import { Principals } from './principals.js';
import { RemovalSweeper } from './removal-sweeper.js';
import { UsersController } from './users.controller.js';
import { USER_HANDLERS } from './users.handlers.js';

@Module({
  controllers: [UsersController, ...BOT_USER_CONTROLLERS],
  providers: [Principals, PendingRemovals, RemovalSweeper, ...USER_HANDLERS, ...BOT_USER_HANDLERS],
})
export class AccountsModule {}
