import { Module } from '@nestjs/common';
import { IdSource } from '../../ids.js';
import { EventLog } from '../../log/append/event-log.js';
import { Changes } from '../../resources/changes.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { OwnedEntities } from '../../resources/owned-entities.js';
import { BotUsersController } from './bot-users.controller.js';
import { CreateBotUserHandler, DeleteBotUserHandler, UpdateBotUserHandler } from './bot-users.handlers.js';
import { Principals } from './principals.js';
import { UsersController } from './users.controller.js';
import { CreateUserHandler, DeleteUserHandler, UpdateUserHandler } from './users.handlers.js';

@Module({
  controllers: [UsersController, BotUsersController],
  providers: [
    {
      provide: Principals,
      useFactory: (changes: Changes, log: EventLog, entities: EntityQueries, owned: OwnedEntities, ids: IdSource) =>
        new Principals(changes, log, entities, owned, ids),
      inject: [Changes, EventLog, EntityQueries, OwnedEntities, IdSource],
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
