import {
  ENTITY_COLUMNS,
  type Entity,
  type EntityRow,
  entityRow,
  type ReadModel,
  type Table,
} from '../log/read-model.js';
import { type Account, type AccountEvent, evolve as evolveAccount } from './accounts/account.js';
import { evolve as evolvePrincipal, type Principal, type PrincipalEvent } from './accounts/principal.js';
import { type ApiKey, type ApiKeyEvent, evolve as evolveApiKey } from './api-keys/api-key.js';

/** The rows hold the state under the same names. */
export type AccountRow = EntityRow & Account;
export const ACCOUNTS: Table<Account> = {
  name: 'accounts',
  columns: [...ENTITY_COLUMNS, 'name', 'admins'],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [{ ...entityRow(entity), ...entity.state }],
  exclusiveValuesOf: () => [],
};
export const accountStateOf = ({ name, admins }: AccountRow): Account => ({ name, admins });

export const accountsReadModel: ReadModel<Account, AccountEvent> = {
  streamPrefixes: ['ac'],
  events: { 'account_created.v1': {}, 'account_admins_changed.v1': {} },
  evolve: evolveAccount,
  tables: [ACCOUNTS],
};

export type PrincipalRow = EntityRow & Principal;
export const PRINCIPALS: Table<Principal> = {
  name: 'principals',
  columns: [...ENTITY_COLUMNS, 'kind', 'name', 'email', 'role', 'active', 'deleted'],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity) => [{ ...entityRow(entity), ...entity.state }],
  exclusiveValuesOf: (row) =>
    row.deleted === true ? [] : [row.kind === 'user' ? `email:${String(row.email).toLowerCase()}` : `bot:${row.name}`],
};
export const principalStateOf = ({ kind, name, email, role, active, deleted }: PrincipalRow): Principal => ({
  kind,
  name,
  email,
  role,
  active,
  deleted,
});

/** The unique indexes behind "one user an email, one bot a name", violated when two creates race. */
export const USER_EMAIL_CONSTRAINT = 'principals_user_email';
export const BOT_NAME_CONSTRAINT = 'principals_bot_name';

export const principalsReadModel: ReadModel<Principal, PrincipalEvent> = {
  streamPrefixes: ['usr', 'bot'],
  events: {
    'user_created.v1': {},
    'user_updated.v1': {},
    'user_deleted.v1': { isEnd: true },
    'bot_user_created.v1': {},
    'bot_user_updated.v1': {},
    'bot_user_deleted.v1': { isEnd: true },
  },
  evolve: evolvePrincipal,
  tables: [PRINCIPALS],
};

export interface ApiKeyRow extends EntityRow {
  readonly owner_id: string;
  readonly description: string;
  readonly metadata: string;
  readonly token_hash: string;
}
export const API_KEYS: Table<ApiKey> = {
  name: 'api_keys',
  columns: [...ENTITY_COLUMNS, 'owner_id', 'description', 'metadata', 'token_hash'],
  primaryKey: ['account_id', 'id'],
  rowsOf: (entity: Entity<ApiKey>) => {
    const { ownerId, tokenHash, ...same } = entity.state;
    return [{ ...entityRow(entity), ...same, owner_id: ownerId, token_hash: tokenHash }];
  },
  exclusiveValuesOf: (row) => [`token:${row.token_hash}`],
};
export const apiKeyStateOf = ({ owner_id, token_hash, description, metadata }: ApiKeyRow): ApiKey => ({
  ownerId: owner_id,
  description,
  metadata,
  tokenHash: token_hash,
});

export const apiKeysReadModel: ReadModel<ApiKey, ApiKeyEvent> = {
  streamPrefixes: ['ak'],
  // Whoever has the hash of a key that a person chose (BOOTSTRAP_API_KEY) could try guesses against it.
  events: {
    'api_key_created.v1': { hidden: ['token_hash'] },
    'api_key_updated.v1': {},
    'api_key_deleted.v1': { isEnd: true },
  },
  evolve: evolveApiKey,
  tables: [API_KEYS],
};
