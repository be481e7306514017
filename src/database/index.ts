/** The door of the database: what code outside may use of it. Each name has its sentence where it is defined. */

export { AuditReads, type Reader, refuseLater } from './audit-reads.js';
export { coalesced, coalescedByAccount, coalescedRows, type Ref, wantedRows } from './coalesce.js';
export { readSuitability } from './connect.js';
export { withAdvice } from './connection/advice.js';
export { fetchRows, IN_INDEX_ORDER } from './cursor.js';
export { attachEmbedded, type Database, type OpenMode, openDatabase, POOL } from './database.js';
export { type DatabaseServer, parseDatabaseUrl } from './database-url.js';
export { DedicatedConnections, type MaintenanceDatabase } from './dedicated-connections.js';
export {
  CHECKPOINT_KEY_FILE,
  type EmbeddedData,
  FIRST_CALLS_FILE,
  findEmbeddedData,
  removeEmbeddedData,
} from './embedded/removal.js';
export { DatabaseUnreachable, POOLER_ADVICE, PostgresFailure } from './failure.js';
export { Incidents } from './incidents.js';
export { migrate } from './migrate.js';
export { BEGAN_LATER, NewRows, type RowReader, WAS_IN_PROGRESS } from './new-rows.js';
export { PrimaryClient, PrimaryPool } from './primary-pool.js';
export {
  type Connections,
  durableLimits,
  durably,
  inTransaction,
  type NamedStatement,
  onlyRow,
  onPrimary,
  queryNamed,
  type Transaction,
  WRITE_LIMITS,
} from './query.js';
export { describeLack, readRoleDefaults } from './role-defaults.js';
export { KNOWN_MIGRATIONS, readMigrations, refuseSupersededSchema, requireMigrations } from './schema/migrations.js';
export { describeRights } from './schema/rights.js';
export { compareSchema } from './schema/schema-comparison.js';
export { readSchemaState } from './schema/schema-state.js';
export { sqlLiteral } from './sql-literal.js';
export { untilReachable } from './until-reachable.js';
