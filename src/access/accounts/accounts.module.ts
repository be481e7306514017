import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/database.js';
import { IdSource } from '../../ids.js';
import { EventLog } from '../../log/append/event-log.js';
import { Changes } from '../../resources/changes.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { OwnedEntities } from '../../resources/owned-entities.js';
import { BotUsersController } from './bot-users.controller.js';
import { CreateBotUserHandler, DeleteBotUserHandler, UpdateBotUserHandler } from './bot-users.handlers.js';
import { PendingRemovals } from './pending-removals.js';
import { Principals } from './principals.js';
import { RemovalSweeper } from './removal-sweeper.js';
import { UsersController } from './users.controller.js';
import { CreateUserHandler, DeleteUserHandler, UpdateUserHandler } from './users.handlers.js';

@Module({
  controllers: [UsersController, BotUsersController],
  providers: [
    {
      provide: Principals,
      useFactory: (changes: Changes, entities: EntityQueries, owned: OwnedEntities, pending: PendingRemovals) =>
        new Principals(changes, entities, owned, pending),
      inject: [Changes, EntityQueries, OwnedEntities, PendingRemovals],
    },
    {
      provide: PendingRemovals,
      useFactory: (pool: Pool, log: EventLog, owned: OwnedEntities, ids: IdSource) =>
        new PendingRemovals(pool, log, owned, ids),
      inject: [POOL, EventLog, OwnedEntities, IdSource],
    },
    {
      provide: RemovalSweeper,
      useFactory: (pending: PendingRemovals) => new RemovalSweeper(pending),
      inject: [PendingRemovals],
    },
    CreateUserHandler,
    UpdateUserHandler,
    DeleteUserHandler,
    CreateBotUserHandler,
    UpdateBotUserHandler,
    DeleteBotUserHandler,
  ],
})
export class AccountsModule {}
