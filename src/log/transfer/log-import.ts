import type { Client } from 'pg';
import { copyIn } from '../../database/copy/copy-in.js';
import { escaped } from '../../database/copy/copy-text.js';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import { EventChecks, knownTypes } from '../checks/event-checks.js';
import type { LoggedEvent } from '../checks/logged-event.js';
import { streamFaults } from '../checks/stream-checks.js';
import type { AnyReadModel, EventFacts } from '../read-model.js';
import { foldAccount } from './account-fold.js';
import { LogFileError, parseLine } from './log-file.js';

interface Imported {
  readonly account: string;
  readonly events: number;
}

/** Size of one COPY, large enough that the round trip is negligible. */
const COPIED_CHARACTERS = 1 << 20;

/**
 * Writes an exported log and the rows it makes into a database in which its account has no log, in one transaction.
 * Throws LogFileError with the number of the faulty line, or ReplayError.
 */
export async function importLog(
  database: MaintenanceDatabase,
  models: readonly AnyReadModel[],
  lines: AsyncIterable<string>,
  onEvents: (count: number) => void,
): Promise<Imported> {
  return DedicatedConnections.use(database, async (connections) => {
    const client = await connections.openTransaction();
    const log = new Import(client, models);
    for await (const line of lines) {
      const inserted = await log.add(line);
      if (inserted !== undefined) onEvents(inserted);
    }
    const imported = await log.end();
    for (const model of models) await foldAccount(client, model, imported.account);
    await connections.commit(client);
    await client.query(`analyze ${keysOf(models).join(', ')}`);
    return imported;
  });
}

/**
 * The columns of which the server learns at once, so that it plans well with these tables. It analyzes the others soon, by
 * itself, since an analysis of some columns leaves that due.
 */
const keysOf = (models: readonly AnyReadModel[]): string[] => [
  'events (account_id, stream_id)',
  ...models.flatMap(({ tables }) => tables.map(({ name, primaryKey }) => `${name} (${primaryKey.join(', ')})`)),
];

class Import {
  private readonly checks: EventChecks;
  /** The types of events that may take rights. */
  private readonly takingTypes: ReadonlySet<string>;
  private account = '';
  private lineNumber = 0;
  private rightsPosition = 0;
  private pending: string[] = [];
  private inserting: Promise<void> = Promise.resolve();
  private characters = 0;

  constructor(
    private readonly client: Client,
    private readonly models: readonly AnyReadModel[],
  ) {
    this.checks = new EventChecks(knownTypes(models));
    const facts = models.flatMap(({ events }) => Object.entries<EventFacts>(events));
    this.takingTypes = new Set(facts.filter(([, { takesRights }]) => takesRights === true).map(([type]) => type));
  }

  /** Resolves with the number of inserted lines, or undefined if it only buffered the line. */
  async add(line: string): Promise<number | undefined> {
    this.lineNumber += 1;
    const event = this.parseAndCheck(line);
    if (this.lineNumber === 1) await this.claimAccount(event.account_id);
    if (this.takingTypes.has(event.type)) this.rightsPosition = event.position;
    this.pending.push(rowOf(event));
    this.characters += line.length;
    return this.characters >= COPIED_CHARACTERS ? this.insert() : undefined;
  }

  async end(): Promise<Imported> {
    if (this.lineNumber === 0) throw new LogFileError('the file is empty');
    await this.insert();
    await this.inserting;
    await this.checkStreams();
    await this.client.query(
      `update log_heads set size = $2, rights_position = $3,
         recorded_at = (select recorded_at from events where account_id = $1 and position = $2) where account_id = $1`,
      [this.account, this.lineNumber, this.rightsPosition],
    );
    return { account: this.account, events: this.lineNumber };
  }

  private async checkStreams(): Promise<void> {
    for await (const { position, what } of streamFaults(this.client, this.models, this.account)) {
      throw new LogFileError(`line ${position}: ${what}`);
    }
  }

  /** Positions start at 1 without gaps, so the number of a line is the position of its event. */
  private parseAndCheck(line: string): LoggedEvent {
    const event = this.parse(line);
    if (this.lineNumber > 1 && event.account_id !== this.account) {
      throw this.faulty(`its account is ${event.account_id}, but that of the previous lines is ${this.account}`);
    }
    if (event.position !== this.lineNumber) {
      throw this.faulty(`its position is ${event.position}; an imported log must start at position 1 and have no gaps`);
    }
    const [fault] = this.checks.check(event).faults;
    if (fault !== undefined) throw this.faulty(fault.what);
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
    return new LogFileError(`line ${this.lineNumber}: ${reason}`);
  }

  /** Inserts the head first, so that a second import of the account waits for this one and is then refused. */
  private async claimAccount(account: string): Promise<void> {
    this.account = account;
    const { rowCount } = await this.client.query(
      `insert into log_heads (account_id, size, recorded_at) select $1, 0, '-infinity'
       where not exists (select from events where account_id = $1) on conflict do nothing`,
      [account],
    );
    if (rowCount === 0) throw this.faulty(`account ${account} has a log in this database already`);
  }

  /** Resolves once the lines before these are inserted: PostgreSQL inserts while the next lines are checked. */
  private async insert(): Promise<number> {
    await this.inserting;
    const { pending: rows, lineNumber: last } = this;
    this.pending = [];
    this.characters = 0;
    this.inserting = copyIn(this.client, EVENTS, rows.join('')).catch((error) => {
      throw refusalOf(error, `lines ${last - rows.length + 1} to ${last}`);
    });
    // The next await throws it.
    this.inserting.catch(() => undefined);
    return rows.length;
  }
}

function refusalOf(error: unknown, lines: string): unknown {
  const failure = PostgresFailure.of(error);
  if (!failure.isAboutData || !(error instanceof Error)) return error;
  return new LogFileError(`${lines}: ${failure.constraint ?? ''} ${error.message}`);
}

const EVENTS = `events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at,
  recorded_at, leaf_hash)`;

/** A checked event as a row for COPY. Only its data and metadata can have characters to escape. */
function rowOf(event: LoggedEvent): string {
  const place = `${event.account_id}\t${event.position}\t${event.stream_id}\t${event.stream_version}`;
  const content = `${event.event_id}\t${event.type}\t${escaped(event.data)}\t${escaped(event.metadata)}`;
  return `${place}\t${content}\t${event.occurred_at}\t${event.recorded_at}\t\\\\x${event.leaf_hash}\n`;
}
