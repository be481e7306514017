import { entityTable, type ReadModel } from '../../../event-log/index.js';
import { type ApiKey, type ApiKeyEvent, evolve } from './api-key.js';

const COLUMNS = ['description', 'metadata', 'owner_id', 'token_hash', 'expires_at'] as const;

export const apiKeysReadModel: ReadModel<ApiKey, ApiKeyEvent> = {
  streamPrefixes: ['ak'],
  // Hidden, because a reader of the hash could guess a key that a person chose (BOOTSTRAP_API_KEY).
  events: {
    'api_key_created.v1': { isStart: true, hidden: ['token_hash'] },
    'api_key_updated.v1': {},
    'api_key_expiry_changed.v1': { takesRights: true },
    'api_key_deleted.v1': { isEnd: true, takesRights: true },
  },
  evolve,
  tables: [entityTable<ApiKey>('api_keys', COLUMNS, (row) => [`token:${row.token_hash}`])],
};
