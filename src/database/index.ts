/** The door of the database: what code outside may use of it. Each name has its sentence where it is defined. */

export { AuditReads, type Reader, refuseLater } from './audit-reads.js';
export { coalesced, coalescedByAccount, coalescedRows, type Ref, wantedRows } from './coalesce.js';
export { MIN_POSTGRES_VERSION, SUITABILITY } from './connect.js';
export { withAdvice } from './connection/advice.js';
export { copyIn } from './copy/copy-in.js';
export { escapedJson } from './copy/copy-text.js';
export { sqlLiteral } from './copy/sql-literal.js';
export { fetchRows, IN_INDEX_ORDER, readAhead } from './cursor.js';
export { type Database, type DatabaseOptions, embeddedServer, type OpenMode, openDatabase, POOL } from './database.js';
export { type DatabaseServer, parseDatabaseUrl } from './database-url.js';
export { DedicatedConnections, exportSnapshot, type MaintenanceDatabase } from './dedicated-connections.js';
export { findRunningPostgres, hasData, startEmbeddedPostgres } from './embedded/embedded-postgres.js';
export {
  CHECKPOINT_KEY_FILE,
  type EmbeddedData,
  FIRST_CALLS_FILE,
  findEmbeddedData,
  removeEmbeddedData,
} from './embedded/removal.js';
export { DatabaseUnreachable, POOLER_ADVICE, PostgresFailure } from './failure.js';
export { Incidents } from './incidents.js';
export { isCurrent, migrate } from './migrate.js';
export { PrimaryClient, PrimaryPool } from './primary-pool.js';
export {
  type Connections,
  durableLimits,
  durably,
  type NamedStatement,
  onlyRow,
  onPrimary,
  queryNamed,
  WRITE_LIMITS,
} from './query.js';
export { describeLack, readRoleDefaults } from './role-defaults.js';
export {
  appliedMigrations,
  describeBefore,
  KNOWN_MIGRATIONS,
  newerOf,
  ofBefore,
  pendingOf,
  refuseSchemaOfBefore,
  requireMigrations,
} from './schema/migrations.js';
export { describeRights, missingRights } from './schema/rights.js';
export { readSchemaState } from './schema/schema-state.js';
export { untilReachable } from './until-reachable.js';
