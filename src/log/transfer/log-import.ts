import { type Client, DatabaseError } from 'pg';
import { copyIn } from '../../database/copy/copy-in.js';
import { escapedJson } from '../../database/copy/copy-text.js';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import { EventChecks, knownTypes } from '../checks/event-checks.js';
import type { LoggedEvent } from '../checks/logged-event.js';
import { streamFaults } from '../checks/stream-checks.js';
import { claimAnew } from '../claims/held-claims.js';
import { ReplayError } from '../prove/stream-fold.js';
import type { AnyReadModel, EventFacts } from '../read-model.js';
import { foldAccount } from './account-fold.js';
import { LateIndexes } from './late-indexes.js';
import { LogFileError, parseLine } from './log-file.js';

interface Imported {
  readonly account: string;
  readonly events: number;
}

/** Receives the progress of an import. */
export interface ImportWatcher {
  /** A step begins: the lines are checked and written, then rows are made of the events. */
  step(what: 'import' | 'make rows', events?: number): void;
  events(count: number): void;
}

const UNWATCHED: ImportWatcher = { step: () => undefined, events: () => undefined };

/**
 * Writes an exported log and the rows it makes into a database in which its account has no log, in one transaction.
 * Throws LogFileError with the number of the faulty line, or ReplayError.
 */
export async function importLog(
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  lists: AsyncIterable<readonly string[]>,
  watcher: ImportWatcher = UNWATCHED,
): Promise<Imported> {
  const onEvents = (count: number): void => watcher.events(count);
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    const indexes = await LateIndexes.of(client, models);
    const log = new CheckedLog(models);
    watcher.step('import');
    await copyEvents(client, log, log.blocksOf(lists, onEvents));
    const { account, events } = log;
    watcher.step('make rows', events);
    await indexes.make('events');
    await client.query(SET_HEAD, [account, events, log.rightsPosition]);
    try {
      for (const model of models) {
        await foldAccount(client, model, account, onEvents);
        for (const { name } of model.tables) await indexes.make(name);
      }
      await claimAnew(client, models, account);
    } catch (error) {
      throw (error instanceof ReplayError && (await firstFault(client, models, account))) || error;
    }
    await connections.commit(client);
    await client.query(analyzeFewRows(keysOf(models)));
    return { account, events };
  });
}

/** The first block tells whose log it is. */
async function copyEvents(client: Client, log: CheckedLog, blocks: AsyncGenerator<string>): Promise<void> {
  const first = await blocks.next();
  if (first.done) throw new LogFileError('the file is empty');
  const all = async function* () {
    yield first.value;
    yield* blocks;
  };
  try {
    await claimAccount(client, log.account);
    await copyIn(client, EVENTS, all());
  } catch (error) {
    throw refusalOf(error);
  } finally {
    // Else a refused claim leaves the file open.
    await blocks.return(undefined);
  }
}

/** Inserts the head first, so that a second import of the account waits for this one and is then refused. */
async function claimAccount(client: Client, account: string): Promise<void> {
  const { rowCount } = await client.query(CLAIM, [account]);
  if (rowCount === 0) throw faulty(1, `account ${account} has a log in this database already`);
}

const CLAIM = `insert into log_heads (account_id, size, recorded_at) select $1, 0, '-infinity'
  where not exists (select from events where account_id = $1) on conflict do nothing`;

const SET_HEAD = `update log_heads set size = $2, rights_position = $3,
  recorded_at = (select recorded_at from events where account_id = $1 and position = $2) where account_id = $1`;

/**
 * By default an analysis reads 30,000 rows of each table: a second for what a tenth of them tells. The server makes a whole analysis soon, by itself,
 * since one of some columns leaves that due.
 */
const analyzeFewRows = (tables: readonly string[]): string =>
  `begin; set local default_statistics_target = 10; analyze ${tables.join(', ')}; commit`;

/** The columns of which the server learns at once, so that it plans well with these tables. */
const keysOf = (models: readonly AnyReadModel[]): string[] => [
  'events (account_id, stream_id)',
  ...models.flatMap(({ tables }) => tables.map(({ name, primaryKey }) => `${name} (${primaryKey.join(', ')})`)),
];

/** The fold meets streams in the order of their ids, so its first fault need not be that of the first line. */
async function firstFault(
  client: Client,
  models: readonly AnyReadModel[],
  account: string,
): Promise<LogFileError | undefined> {
  for await (const { position, what } of streamFaults(client, models, account)) return faulty(Number(position), what);
  return undefined;
}

/** The lines of a file, checked one by one. */
class CheckedLog {
  account = '';
  events = 0;
  rightsPosition = 0;
  private readonly checks: EventChecks;
  /** The types of events that may take rights. */
  private readonly takingTypes: ReadonlySet<string>;

  constructor(models: readonly AnyReadModel[]) {
    this.checks = new EventChecks(knownTypes(models));
    const facts = models.flatMap(({ events }) => Object.entries<EventFacts>(events));
    this.takingTypes = new Set(facts.filter(([, { takesRights }]) => takesRights === true).map(([type]) => type));
  }

  /** Yields rows for COPY. `onEvents` gets the number of those that are taken. */
  async *blocksOf(lists: AsyncIterable<readonly string[]>, onEvents: (count: number) => void): AsyncGenerator<string> {
    for await (const lines of lists) {
      let rows = '';
      for (const line of lines) rows += rowOf(this.checked(line));
      if (rows !== '') yield rows;
      onEvents(lines.length);
    }
  }

  /** Positions start at 1 without gaps, so the number of a line is the position of its event. */
  private checked(line: string): LoggedEvent {
    this.events += 1;
    const event = this.parse(line);
    if (this.events === 1) this.account = event.account_id;
    if (event.account_id !== this.account) {
      throw this.faulty(`its account is ${event.account_id}, but that of the previous lines is ${this.account}`);
    }
    if (event.position !== this.events) {
      throw this.faulty(`its position is ${event.position}; an imported log must start at position 1 and have no gaps`);
    }
    const [fault] = this.checks.check(event).faults;
    if (fault !== undefined) throw this.faulty(fault.what);
    if (this.takingTypes.has(event.type)) this.rightsPosition = event.position;
    return event;
  }

  private parse(line: string): LoggedEvent {
    try {
      return parseLine(line);
    } catch (error) {
      throw error instanceof LogFileError ? this.faulty(error.message) : error;
    }
  }

  private faulty(reason: string): LogFileError {
    return faulty(this.events, reason);
  }
}

const faulty = (line: number, reason: string): LogFileError => new LogFileError(`line ${line}: ${reason}`);

/** PostgreSQL names the line of a row that it refuses, in the language of the server. */
function refusalOf(error: unknown): unknown {
  const { isAboutData, constraint, cause } = PostgresFailure.of(error);
  if (!isAboutData || !(cause instanceof DatabaseError)) return error;
  const line = /^COPY events, \D*(\d+)/m.exec(cause.where ?? '')?.[1];
  const reason = `${constraint ?? ''} ${cause.message}`;
  return line === undefined ? new LogFileError(`a line is refused: ${reason}`) : faulty(Number(line), reason);
}

const EVENTS = `events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at,
  recorded_at, leaf_hash)`;

/** A checked event as a row for COPY. Only its data and metadata can have characters to escape. */
function rowOf(event: LoggedEvent): string {
  const place = `${event.account_id}\t${event.position}\t${event.stream_id}\t${event.stream_version}`;
  const content = `${event.event_id}\t${event.type}\t${escapedJson(event.data)}\t${escapedJson(event.metadata)}`;
  return `${place}\t${content}\t${event.occurred_at}\t${event.recorded_at}\t\\\\x${event.leaf_hash}\n`;
}
