import { Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../database/database.js';
import { Streams } from '../resources/changes.js';
import { OWNED_THINGS, type OwnedThings } from '../resources/owned-things.js';
import { Accounts, ApiKeys, Bots, Users } from './access.queries.js';
import { CreateBotHandler, UpdateBotHandler } from './accounts/bot-users.commands.js';
import { BotUsersController } from './accounts/bot-users.controller.js';
import { DeletePrincipalHandler } from './accounts/principals.commands.js';
import { Principals } from './accounts/principals.js';
import { CreateUserHandler, UpdateUserHandler } from './accounts/users.commands.js';
import { UsersController } from './accounts/users.controller.js';
import { CreateApiKeyHandler, DeleteApiKeyHandler, UpdateApiKeyHandler } from './api-keys/api-keys.commands.js';
import { ApiKeysController } from './api-keys/api-keys.controller.js';

@Module({
  controllers: [UsersController, BotUsersController, ApiKeysController],
  providers: [
    ...[Accounts, Users, Bots, ApiKeys].map((queries) => ({
      provide: queries,
      useFactory: (pool: Pool) => new queries(pool),
      inject: [POOL],
    })),
    {
      provide: Principals,
      useFactory: (streams: Streams, accounts: Accounts, owned: readonly OwnedThings[]) =>
        new Principals(streams, accounts, owned),
      inject: [Streams, Accounts, OWNED_THINGS],
    },
    CreateUserHandler,
    UpdateUserHandler,
    CreateBotHandler,
    UpdateBotHandler,
    DeletePrincipalHandler,
    CreateApiKeyHandler,
    UpdateApiKeyHandler,
    DeleteApiKeyHandler,
  ],
})
export class AccessModule {}
