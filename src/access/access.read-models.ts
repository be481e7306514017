import { ENTITY_COLUMNS, entityRow, type ReadModel } from '../event-log/read-model.js';
import { type Account, type AccountEvent, evolve as evolveAccount } from './account.js';
import { type ApiKey, type ApiKeyEvent, evolve as evolveApiKey } from './api-key.js';
import { evolve as evolvePrincipal, type Principal, type PrincipalEvent } from './principal.js';

export const accountsReadModel: ReadModel<Account, AccountEvent> = {
  streamPrefixes: ['ac'],
  evolve: evolveAccount,
  tables: [
    {
      name: 'accounts',
      columns: [...ENTITY_COLUMNS, 'name'],
      primaryKey: ['account_id', 'id'],
      rowsOf: (entity) => [{ ...entityRow(entity), name: entity.state.name }],
      exclusiveValuesOf: () => [],
    },
  ],
};

export const principalsReadModel: ReadModel<Principal, PrincipalEvent> = {
  streamPrefixes: ['usr', 'bot'],
  evolve: evolvePrincipal,
  tables: [
    {
      name: 'principals',
      columns: [...ENTITY_COLUMNS, 'kind', 'name', 'email', 'role', 'active'],
      primaryKey: ['account_id', 'id'],
      rowsOf: (entity) => [{ ...entityRow(entity), ...entity.state }],
      exclusiveValuesOf: () => [],
    },
  ],
};

export const apiKeysReadModel: ReadModel<ApiKey, ApiKeyEvent> = {
  streamPrefixes: ['ak'],
  evolve: evolveApiKey,
  tables: [
    {
      name: 'api_keys',
      columns: [...ENTITY_COLUMNS, 'owner_id', 'description', 'metadata', 'token_hash'],
      primaryKey: ['account_id', 'id'],
      rowsOf: (entity) => [
        {
          ...entityRow(entity),
          owner_id: entity.state.ownerId,
          description: entity.state.description,
          metadata: entity.state.metadata,
          token_hash: entity.state.tokenHash,
        },
      ],
      exclusiveValuesOf: (row) => [`token:${row.token_hash}`],
    },
  ],
};
