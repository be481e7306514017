import { Module } from '@nestjs/common';
import { POOL } from '../../../database/index.js';
import { EventLog } from '../../../event-log/index.js';
import { IdSource } from '../../../kernel/ids.js';
import { Changes } from '../../resources/changes.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { OwnedEntities } from '../../resources/owned-entities.js';
import { providerOf } from '../../resources/provider-of.js';
import { BotUserRoleController, BotUsersController, ServiceUsersController } from './bot-users.controller.js';
import { BOT_USER_HANDLERS } from './bot-users.handlers.js';
import { PendingRemovals } from './pending-removals.js';
import { Principals } from './principals.js';
import { RemovalSweeper } from './removal-sweeper.js';
import { UsersController } from './users.controller.js';
import { USER_HANDLERS } from './users.handlers.js';

@Module({
  controllers: [UsersController, BotUsersController, ServiceUsersController, BotUserRoleController],
  providers: [
    providerOf(Principals, Changes, EntityQueries, OwnedEntities, PendingRemovals),
    providerOf(PendingRemovals, POOL, EventLog, OwnedEntities, IdSource),
    providerOf(RemovalSweeper, PendingRemovals),
    ...USER_HANDLERS,
    ...BOT_USER_HANDLERS,
  ],
})
export class AccountsModule {}
