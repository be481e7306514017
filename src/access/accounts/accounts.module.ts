import { Module } from '@nestjs/common';
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
      useFactory: (changes: Changes, log: EventLog, entities: EntityQueries, owned: OwnedEntities) =>
        new Principals(changes, log, entities, owned),
      inject: [Changes, EventLog, EntityQueries, OwnedEntities],
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
