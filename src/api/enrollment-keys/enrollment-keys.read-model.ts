import { entityTable, type ReadModel } from '../../event-log/index.js';
import { type EnrollmentKey, type EnrollmentKeyEvent, evolve } from './enrollment-key.js';

const COLUMNS = [
  ...(['description', 'metadata', 'owner_id', 'token_hash', 'acl'] as const),
  ...(['reserve_addr', 'name', 'max_uses', 'uses', 'expires_at'] as const),
] as const;

export const enrollmentKeysReadModel: ReadModel<EnrollmentKey, EnrollmentKeyEvent> = {
  streamPrefixes: ['enk'],
  events: {
    'enrollment_key_created.v1': { isStart: true, hidden: ['token_hash'] },
    'enrollment_key_used.v1': {},
    'enrollment_key_deleted.v1': { isEnd: true },
  },
  evolve,
  tables: [entityTable<EnrollmentKey>('enrollment_keys', COLUMNS, (row) => [`token:${row.token_hash}`])],
};
