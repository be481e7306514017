/** The door of the event log: what code outside may use of it. Each name has its sentence where it is defined. */

// Append
export type { StreamAppend } from './append/append.js';
export { ClaimRefused, ConstraintViolated, RightsTaken, StreamConflict } from './append/append-failures.js';
export { CLAIMS_CONSTRAINT } from './append/append-statement.js';
export { eventIdOf } from './append/event-ids.js';
export { EventLog } from './append/event-log.js';

// What an event is
export { correlationOf, type DomainEvent, type EventMetadata } from './event.js';

// Compare and repair the rows
export { type Proof, prove } from './fold/proof.js';
export { type Repaired, repair } from './fold/repair.js';
export type { Difference } from './fold/row-comparison.js';

// Read
export { AsOfQueries } from './read/as-of-queries.js';
export type { EventFilter, Span } from './read/event-filter.js';
export { changedFields, changesBetween, type FieldChange } from './read/field-changes.js';
export { LogPages, type PageSize } from './read/log-pages.js';
export { AS_COMMITTED, LogPositions } from './read/log-positions.js';
export { LogReader } from './read/log-reader.js';
export { LogTail, type TailEvent } from './read/log-tail.js';
export { Past } from './read/past.js';
export {
  foldRecorded,
  parseData,
  parseMetadata,
  type RecordedEvent,
  type ReplayableEvent,
} from './read/recorded-event.js';

// Read models
export {
  type AnyReadModel,
  claimValue,
  type Entity,
  type EntityRow,
  entityTable,
  fold,
  modelFinder,
  type ReadModel,
  type Row,
  type Table,
} from './read-model.js';

// Sealed records
export { RECORD_TABLES, RecordPages } from './records/record-lines.js';
export { type RecordsSealed, SealedDays, sealedRecordsReadModel, sealedStreamOf } from './records/sealed-records.js';
export { exportAll, exportLog } from './transfer/export-all.js';
// Export and import
export { exportPage } from './transfer/export-pages.js';
export { LogFileError } from './transfer/log-file.js';
export { type ImportedLog, importLogs } from './transfer/log-import.js';
export { verifyFile } from './transfer/verify-file.js';

// Signed logs
export { Evidence } from './transparency/evidence.js';
export { Rechecks } from './transparency/rechecks.js';
export {
  findEmbeddedKeys,
  KeyHistory,
  newKeyText,
  openEmbeddedKeys,
  parseCheckpointKeys,
  readKeyFile,
} from './transparency/seal/checkpoint-key.js';
export { Checkpoints } from './transparency/seal/checkpoints.js';
export { endAlarms, LogAlarms } from './transparency/seal/log-alarms.js';
export { seal, UnknownKey } from './transparency/seal/seal.js';
export { type LogState, SealedLogs, TilesDamaged } from './transparency/seal/sealed-logs.js';
export { type Checkpoint, parseSignedCheckpoint } from './transparency/tree/checkpoint.js';
export { isConsistent } from './transparency/tree/merkle-tree.js';
export {
  COSIGNATURE,
  cosignNote,
  parseVerifier,
  renamed,
  type SignedNote,
  type SignerKey,
  signerKey,
  type VerifierKey,
  verifierText,
} from './transparency/tree/signed-note.js';

// Verify
export { accountOf, type KeptCheckpoint } from './verify/kept-checks.js';
export { repairTiles } from './verify/repair-tiles.js';
export type { StreamedEvent } from './verify/stream-order.js';
export { type Fault, verify } from './verify/verify.js';
