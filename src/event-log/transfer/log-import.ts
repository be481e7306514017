import { type Client, DatabaseError } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase, PostgresFailure } from '../../database/index.js';
import { rewriteClaims } from '../claims/held-claims.js';
import { ReplayError } from '../fold/stream-fold.js';
import type { AnyReadModel, EventFacts } from '../read-model.js';
import { EventChecks, knownTypes } from '../verify/event-checks.js';
import type { LoggedEvent } from '../verify/logged-event.js';
import { logsOn, makeTiles } from '../verify/repair-tiles.js';
import { type StreamFault, streamFaults } from '../verify/stream-checks.js';
import { foldAccount } from './account-fold.js';
import { copyIn } from './copy-in.js';
import { type AccountLine, atLine, faultyLine, LogFileError, parseLine, RECORDS, type RecordLine } from './log-file.js';
import { areThere, insertRecords } from './log-records.js';
import { type LogSection, sectionsOf } from './log-sections.js';

/** The result of the import of one account's log. */
export interface ImportedLog {
  /** The account, or '' for the records of no account. */
  readonly account: string;
  readonly events: number;
  /** Whether the database already had an equal log. */
  readonly wasHere: boolean;
  /** The number of events that its newest checkpoint covers. Undefined: the file has no checkpoints. */
  readonly signed: number | undefined;
}

/** Receives the progress of an import. */
export interface ImportWatcher {
  /** A step of a log begins: the lines are checked and written, then rows are made of the events. */
  step(what: 'import' | 'make rows', events?: number): void;
  events(count: number): void;
}

const UNWATCHED: ImportWatcher = { step: () => undefined, events: () => undefined };

/**
 * Writes exported logs and their rows into a database, each log in one transaction, and yields each log when it is
 * written. It refuses an account that has a log in the database, but in a file of all logs it skips an equal log, so
 * that the file can be imported again after an interruption. Throws LogFileError with the number of the faulty line, or
 * ReplayError.
 */
export async function* importLogs(
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  lists: AsyncIterable<readonly string[]>,
  watcher: ImportWatcher = UNWATCHED,
): AsyncGenerator<ImportedLog> {
  let imported = 0;
  for await (const section of sectionsOf(lists)) {
    const log = await DedicatedConnections.use(database, (connections) =>
      new SectionImport(connections, models, section, watcher).run(),
    );
    imported += log.wasHere ? 0 : log.events;
    yield log;
  }
  if (imported > 0) await DedicatedConnections.use(database, (connections) => analyze(connections, models));
}

/**
 * Gives PostgreSQL statistics of the key columns, so that it plans well at once. It soon analyzes the whole tables by
 * itself, because an analysis of some columns does not replace that.
 */
async function analyze(connections: DedicatedConnections, models: readonly AnyReadModel[]): Promise<void> {
  const client = await connections.openTransaction();
  await client.query(`set local default_statistics_target = 10; analyze ${keysOf(models).join(', ')}`);
  await connections.commit(client);
}

const keysOf = (models: readonly AnyReadModel[]): string[] => [
  'events (account_id, stream_id)',
  ...models.flatMap(({ tables }) => tables.map(({ name, primaryKey }) => `${name} (${primaryKey.join(', ')})`)),
];

class SectionImport {
  private readonly log: CheckedLog;

  constructor(
    private readonly connections: DedicatedConnections,
    private readonly models: readonly AnyReadModel[],
    private readonly section: LogSection,
    private readonly watcher: ImportWatcher,
  ) {
    this.log = new CheckedLog(models, section);
  }

  async run(): Promise<ImportedLog> {
    const client = await this.connections.openTransaction();
    const { header } = this.section;
    this.watcher.step('import', header?.events);
    if (header !== undefined && (await isHere(client, header))) return this.compare(client, header);
    // The first lets those triggers refuse that compare accounts: this database may have others than the file. The second
    // lets the others accept the rows of the other deployment, in which a removal may be finished.
    await client.query(`set local tunnel_access.import = 'on'`);
    if (header !== undefined) await client.query(`set local tunnel_access.repair = 'on'`);
    // If two imports run at once, the second one waits here and is then refused.
    if (header !== undefined && header.events > 0) await claimAccount(client, this.log);
    for await (const records of this.section.records()) await this.insert(client, records);
    if (header?.events !== 0) await this.importEvents(client);
    const { account, events } = this.log;
    const signed = header === undefined ? undefined : (await makeTiles(client, account)).size;
    await this.connections.commit(client);
    return { account, events, wasHere: false, signed };
  }

  private async insert(client: Client, records: readonly RecordLine[]): Promise<void> {
    const last = this.section.before;
    const lines = `lines ${last - records.length + 1} to ${last}`;
    await insertRecords(client, records, lines);
  }

  private async importEvents(client: Client): Promise<void> {
    const { log, models, watcher } = this;
    const onEvents = (count: number): void => watcher.events(count);
    await copyEvents(client, log, log.blocksOf(onEvents));
    const { account, events } = log;
    watcher.step('make rows', events);
    await client.query(SET_HEAD, [account, events, log.rightsPosition]);
    try {
      for (const model of models) await foldAccount(client, model, account, onEvents);
      await rewriteClaims(client, models, account);
    } catch (error) {
      const fault = error instanceof ReplayError ? await firstFault(client, models, account) : undefined;
      throw fault === undefined ? error : faultyLine(this.section.before + Number(fault.position), fault.what);
    }
  }

  /** Skips a log that is in the database and equal to that in the file. Throws LogFileError if they differ. */
  private async compare(client: Client, { account_id: account, events }: AccountLine): Promise<ImportedLog> {
    const logs = logsOn(client);
    for await (const records of this.section.records()) {
      if (!(await areThere(client, records)))
        throw this.differs(account, 'lacks records of this account, or has others');
    }
    const { rows } = await client.query<{ size: number }>(SIZE, [account]);
    for await (const hashes of this.log.hashesOf((count) => this.watcher.events(count))) {
      const stored = await logs.leaves(account, this.log.events - hashes.length, this.log.events);
      if (!Buffer.concat(stored).equals(Buffer.concat(hashes))) throw this.differs(account, HAS_ANOTHER);
    }
    if (events > 0 && rows[0]?.size !== events) throw this.differs(account, HAS_ANOTHER);
    return { account, events, wasHere: true, signed: (await logs.lastCheckpoint(account))?.size ?? 0 };
  }

  private differs(account: string, what: string): LogFileError {
    const of = account === '' ? 'records of no account' : `account ${account}`;
    return faultyLine(this.section.before, `${of}: this database ${what}. Import the file into an empty one`);
  }
}

const HAS_ANOTHER = 'has another log of it';

const SIZE = 'select size::float8 as size from log_heads where account_id = $1';

async function isHere(client: Client, { account_id: account, events }: AccountLine): Promise<boolean> {
  if (events > 0) return (await client.query('select from log_heads where account_id = $1', [account])).rowCount === 1;
  for (const { table } of RECORDS) {
    if ((await client.query(`select from ${table} where account_id = $1 limit 1`, [account])).rowCount === 1)
      return true;
  }
  return false;
}

/** Copies the events. The first block contains the account, if the file has not named it before. */
async function copyEvents(client: Client, log: CheckedLog, blocks: AsyncGenerator<string>): Promise<void> {
  const first = await blocks.next();
  if (first.done) throw new LogFileError('the file is empty');
  const all = async function* () {
    yield first.value;
    yield* blocks;
  };
  try {
    // In a file of one log only the events name the account.
    if (!log.isNamed) await claimAccount(client, log);
    await copyIn(client, EVENTS, all());
  } catch (error) {
    throw refusalOf(error, log);
  } finally {
    // Otherwise a refused import would leave the file open.
    await blocks.return(undefined);
  }
}

/** Inserts the head first. So a second import of the account waits for this one, and is then refused. */
async function claimAccount(client: Client, log: CheckedLog): Promise<void> {
  const { rowCount } = await client.query(CLAIM, [log.account]);
  if (rowCount === 0) throw log.faulty(1, `account ${log.account} has a log in this database already`);
}

const CLAIM = `insert into log_heads (account_id, size, recorded_at) select $1, 0, '-infinity'
  where not exists (select from events where account_id = $1) on conflict do nothing`;

const SET_HEAD = `update log_heads set size = $2, rights_position = $3,
  recorded_at = (select recorded_at from events where account_id = $1 and position = $2) where account_id = $1`;

/**
 * Finds the fault with the lowest position. The fold goes through streams in the order of ids, so it may find another
 * one first.
 */
async function firstFault(
  client: Client,
  models: readonly AnyReadModel[],
  account: string,
): Promise<StreamFault | undefined> {
  for await (const fault of streamFaults(client, models, account)) return fault;
  return undefined;
}

/** The events of a section, checked one by one. */
class CheckedLog {
  account: string;
  events = 0;
  rightsPosition = 0;
  private readonly checks: EventChecks;
  /** The types of events that may take rights. */
  private readonly takingTypes: ReadonlySet<string>;

  constructor(
    models: readonly AnyReadModel[],
    private readonly section: LogSection,
  ) {
    this.account = section.header?.account_id ?? '';
    this.checks = new EventChecks(knownTypes(models));
    const facts = models.flatMap(({ events }) => Object.entries<EventFacts>(events));
    this.takingTypes = new Set(facts.filter(([, { takesRights }]) => takesRights === true).map(([type]) => type));
  }

  /** Yields blocks of rows for COPY. `onEvents` gets the number of events in each block, after the block is taken. */
  async *blocksOf(onEvents: (count: number) => void): AsyncGenerator<string> {
    for await (const lines of this.section.events()) {
      let rows = '';
      for (const line of lines) rows += rowOf(this.checked(line));
      if (rows !== '') yield rows;
      onEvents(lines.length);
    }
  }

  /** Whether the file names the account before its events. */
  get isNamed(): boolean {
    return this.section.header !== undefined;
  }

  /** Yields lists of the hashes of events, which it computes. `onEvents` gets the number of events in each list. */
  async *hashesOf(onEvents: (count: number) => void): AsyncGenerator<readonly Buffer[]> {
    for await (const lines of this.section.events()) {
      yield lines.map((line) => Buffer.from(this.checked(line).leaf_hash, 'hex'));
      onEvents(lines.length);
    }
  }

  /** The error about the event at a position. Positions start at 1 and have no gaps. */
  faulty(position: number, reason: string): LogFileError {
    return faultyLine(this.section.before + position, reason);
  }

  private checked(line: string): LoggedEvent {
    this.events += 1;
    const event = atLine(this.section.before + this.events, () => parseLine(line));
    if (this.account === '') this.account = event.account_id;
    if (event.account_id !== this.account) {
      throw this.refused(`its account is ${event.account_id}, but that of the previous lines is ${this.account}`);
    }
    if (event.position !== this.events) {
      throw this.refused(
        `its position is ${event.position}; an imported log must start at position 1 and have no gaps`,
      );
    }
    const [fault] = this.checks.check(event).faults;
    if (fault !== undefined) throw this.refused(fault.what);
    if (this.takingTypes.has(event.type)) this.rightsPosition = event.position;
    return event;
  }

  private refused(reason: string): LogFileError {
    return this.faulty(this.events, reason);
  }
}

/** The error for a row that PostgreSQL refuses. PostgreSQL names the line in the language of the server. */
function refusalOf(error: unknown, log: CheckedLog): unknown {
  const { isAboutData, constraint, cause } = PostgresFailure.of(error);
  if (!isAboutData || !(cause instanceof DatabaseError)) return error;
  const line = /^COPY events, \D*(\d+)/m.exec(cause.where ?? '')?.[1];
  const reason = `${constraint ?? ''} ${cause.message}`;
  return line === undefined ? new LogFileError(`a line is refused: ${reason}`) : log.faulty(Number(line), reason);
}

const EVENTS = `events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at,
  recorded_at, leaf_hash)`;

/** Escapes compact JSON, which has no control characters, for COPY's text format. */
const escapedJson = (json: string): string => json.replaceAll('\\', '\\\\');

/** A checked event as a row for COPY. Only its data and metadata can have characters to escape. */
function rowOf(event: LoggedEvent): string {
  const place = `${event.account_id}\t${event.position}\t${event.stream_id}\t${event.stream_version}`;
  const content = `${event.event_id}\t${event.type}\t${escapedJson(event.data)}\t${escapedJson(event.metadata)}`;
  return `${place}\t${content}\t${event.occurred_at}\t${event.recorded_at}\t\\\\x${event.leaf_hash}\n`;
}
