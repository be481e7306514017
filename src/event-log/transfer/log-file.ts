import { sqlLiteral } from '../../database/index.js';
import { isJsonObject, parseJsonObject } from '../../kernel/json-object.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { recordLine } from '../records/record-lines.js';
import { type HiddenEvent, isHidden, type LoggedEvent, timeText } from '../verify/logged-event.js';

/**
 * Every line of a file is a JSON object, and a file of one log has a line for each event, in the order of positions. A
 * file of all logs begins with a line that names the format, and ends with a line that has the digest. Between them
 * each account has a line with its id and number of events, then a line for each record, then the lines of its events.
 */
export const FORMAT = 'tunnel-access-logs';
export const FORMAT_VERSION = 1;

/** A file, or a line of it, does not have the format of a log. */
export class LogFileError extends OperatorError {
  override readonly name = 'LogFileError';
}

export const faultyLine = (line: number, reason: string): LogFileError => new LogFileError(`line ${line}: ${reason}`);

/** Calls a parser for a line, and adds the number of the line to its LogFileError. */
export function atLine<T>(line: number, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    throw error instanceof LogFileError ? faultyLine(line, error.message) : error;
  }
}

/** The line before the records and events of an account. Records of no account have the id ''. */
export interface AccountLine {
  readonly account_id: string;
  readonly events: number;
}

/**
 * Tables with rows that no event makes and that a copy of the deployment needs. An import writes these rows unchanged.
 * `order` has the rest of the primary key, so that equal tables make equal files.
 */
export const RECORDS = [
  { table: 'log_checkpoints', order: 'size' },
  { table: 'log_alarms', order: 'loss, signed, mark, raised_at' },
  { table: 'bind_decisions', order: 'id' },
  { table: 'credential_usage', order: 'credential_id' },
  { table: 'tunnel_session_records', order: 'id' },
  { table: 'tunnel_records', order: 'id' },
  { table: 'edge_connection_records', order: 'id' },
  { table: 'pending_removals', order: 'owner_id' },
  { table: 'resting_names', order: 'name' },
] as const;

export interface RecordLine {
  readonly table: (typeof RECORDS)[number]['table'];
  readonly row: Readonly<Record<string, unknown>>;
}

/** JSON cannot contain these two control characters, so COPY writes every line unchanged in its CSV format. */
const copyLines = (query: string): string =>
  `copy (${query}) to stdout (format csv, delimiter e'\\x02', quote e'\\x01')`;

/** SQL for the line of an event. */
export const EVENT_LINE = `concat('{"account_id":', to_json(account_id), ',"position":', position, ',"stream_id":', to_json(stream_id),
    ',"stream_version":', stream_version, ',"event_id":"', event_id, '","type":', to_json(type),
    ',"data":', to_json(data), ',"metadata":', to_json(metadata),
    ',"occurred_at":"', ${timeText('occurred_at')}, '","recorded_at":"', ${timeText('recorded_at')},
    '","leaf_hash":"', encode(leaf_hash, 'hex'), '"}')`;

/** The query with which PostgreSQL writes the lines of a log. */
export const exportQuery = (account: string, { after = 0, upTo }: { after?: number; upTo?: number } = {}): string =>
  copyLines(`select ${EVENT_LINE} from events where account_id = ${sqlLiteral(account)} and position > ${after}
    ${upTo === undefined ? '' : `and position <= ${upTo}`} order by position`);

/** The query for the lines of an account's records in one table. */
export const recordsQuery = (account: string, { table, order }: (typeof RECORDS)[number]): string =>
  copyLines(`select ${recordLine(table)} from ${table} t where account_id = ${sqlLiteral(account)} order by ${order}`);

const TYPES: Readonly<Record<keyof LoggedEvent, 'string' | 'number'>> = {
  account_id: 'string',
  position: 'number',
  stream_id: 'string',
  stream_version: 'number',
  event_id: 'string',
  type: 'string',
  data: 'string',
  metadata: 'string',
  occurred_at: 'string',
  recorded_at: 'string',
  leaf_hash: 'string',
};
/** As the service writes it, byte for byte. */
const HIDDEN = /^\{"position":[1-9]\d{0,14},"leaf_hash":"[0-9a-f]{64}","hidden":true\}$/;
const NAMES = Object.keys(TYPES) as (keyof LoggedEvent)[];

/** Parses the line of an event. Throws LogFileError unless it has exactly the fields of an event. */
export function parseLine(line: string): LoggedEvent {
  const event = parseExported(line);
  if (!isHidden(event)) return event;
  throw new LogFileError(
    'the event is hidden, as GET /log/export answers it; only audit export writes all that it has',
  );
}

/** Parses a line that may be hidden. */
export function parseExported(line: string): LoggedEvent | HiddenEvent {
  const event = parseJsonObject(line);
  if (event === undefined) throw new LogFileError('it is not a JSON object; was the file cut?');
  if (HIDDEN.test(line)) return event as unknown as HiddenEvent;
  const names = Object.keys(event);
  const wrong = NAMES.find((name) => typeof event[name] !== TYPES[name]) ?? names.find((name) => !(name in TYPES));
  if (wrong !== undefined) throw new LogFileError(`the field ${wrong} is missing, unknown or of the wrong type`);
  return event as unknown as LoggedEvent;
}

/**
 * Parses the line of a record. Undefined for a line of another kind. Throws LogFileError for another account or an
 * unknown table.
 */
export function parseRecord(line: string, account: string): RecordLine | undefined {
  const { table, row } = parseJsonObject(line) ?? {};
  if (table === undefined) return undefined;
  const known = RECORDS.find((one) => one.table === table)?.table;
  if (known === undefined) throw new LogFileError('this version does not know records of this table');
  if (!isJsonObject(row) || row.account_id !== account)
    throw new LogFileError(`it is not a record of account ${account}`);
  return { table: known, row };
}

/** Parses the line of an account. Undefined for a line of another kind. */
export function parseAccountLine(line: string): AccountLine | undefined {
  const { account_id, events, ...rest } = parseJsonObject(line) ?? {};
  if (typeof account_id !== 'string' || !Number.isSafeInteger(events) || Object.keys(rest).length > 0) return undefined;
  return (account_id === '') === (events === 0) ? { account_id, events: Number(events) } : undefined;
}

/** Whether the first line is that of a file of all logs. Throws LogFileError if its format is newer or unknown. */
export function isFirstOfAll(line: string): boolean {
  const { format, version } = parseJsonObject(line) ?? {};
  if (format === undefined) return false;
  if (format !== FORMAT) throw new LogFileError('this is not a file that audit export wrote');
  if (version === FORMAT_VERSION) return true;
  throw new LogFileError('a newer version of the service wrote this file: import it with that version');
}

/** Parses the last line: the SHA-256 of all lines before it, in hex. Undefined for a line of another kind. */
export function digestInLast(line: string): string | undefined {
  const { end, sha256 } = parseJsonObject(line) ?? {};
  return end === FORMAT && typeof sha256 === 'string' ? sha256 : undefined;
}
