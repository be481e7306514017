import { resolve } from 'node:path';
import { flag, integer } from '../../kernel/settings/parsers.js';
import type { SettingsTable } from '../../kernel/settings/setting.js';
import { databaseUrl } from './parsers.js';

/** The database, and how long and how many requests wait for it. */
export const DATABASE = {
  databaseUrl: {
    name: 'DATABASE_URL',
    about: 'PostgreSQL to use; see [database.md](database.md).',
    fallbackText: 'an embedded PostgreSQL',
    example: 'postgres://user:password@db.example.com:5432/tunnel_access',
    fallback: undefined,
    parse: databaseUrl,
    isSecret: true,
  },
  migrationDatabaseUrl: {
    name: 'MIGRATION_DATABASE_URL',
    about:
      'The same database, with the role that owns its tables. Migrations, repairs and imports run as this role. See [database.md](database.md#roles).',
    fallbackText: 'the role of `DATABASE_URL` owns the tables',
    example: 'postgres://owner:password@db.example.com:5432/tunnel_access',
    fallback: undefined,
    parse: databaseUrl,
    isSecret: true,
  },
  dataDir: {
    name: 'DATA_DIR',
    about: 'Folder of the embedded PostgreSQL.',
    fallbackText: '`./data`',
    example: './data',
    fallback: resolve('data'),
    parse: (value: string) => resolve(value),
  },
  databasePoolSize: {
    name: 'DATABASE_POOL_SIZE',
    about: 'Maximum database connections for changes, reads of the current state and questions of gateways.',
    example: '10',
    fallback: 10,
    parse: integer(2, 1000),
  },
  // The minimum lets a second account read while one account has as many as it may.
  auditReadConnections: {
    name: 'AUDIT_READ_CONNECTIONS',
    about:
      'Maximum further connections for audit reads: `/events`, histories, `as_of` and `/bind_decisions`. One account gets at most half of them.',
    example: '4',
    fallback: 4,
    parse: integer(2, 100),
  },
  auditReadTimeoutMs: {
    name: 'AUDIT_READ_TIMEOUT_MS',
    about: 'After this time the service ends an audit read, and answers 503.',
    example: '10000',
    fallback: 10_000,
    parse: integer(100, 600_000),
  },
  appendQueueLimit: {
    name: 'APPEND_QUEUE_LIMIT',
    about: 'Maximum changes that wait to be written. The service answers further ones with 503.',
    example: '10000',
    fallback: 10_000,
    parse: integer(1, 1_000_000),
  },
  preparedStatements: {
    name: 'PREPARED_STATEMENTS',
    about:
      '`false`: for a pooler that shares sessions and knows no named statements, such as PgBouncer before 1.21. See [failover.md](failover.md#pgbouncer).',
    example: 'false',
    fallback: true,
    parse: flag,
  },
  // A failover of Patroni usually takes less.
  writeDeadlineMs: {
    name: 'WRITE_DEADLINE_MS',
    about:
      'The service tries for this long to write a change, then answers 503; minimum 1000. Set it above the length of a failover.',
    example: '20000',
    fallback: 20_000,
    parse: integer(1000, 600_000),
  },
} as const satisfies SettingsTable;
