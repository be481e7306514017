import type { Client } from 'pg';
import { DedicatedConnections, type MaintenanceDatabase } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import type { AnyReadModel, EventFacts } from '../read-model.js';
import { foldAccount } from './account-fold.js';
import { LogFileError, type LoggedEvent, parseLine } from './log-file.js';
import { formatFault } from './logged-event-format.js';

interface Imported {
  readonly account: string;
  readonly events: number;
}

/** Size of one insert, large enough that the round trip is negligible. */
const INSERT_CHARACTERS = 1 << 20;

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
    await client.query(`analyze events, ${models.flatMap(({ tables }) => tables.map(({ name }) => name)).join(', ')}`);
    return imported;
  });
}

class Import {
  private readonly knownTypes: ReadonlyMap<string, ReadonlySet<string>>;
  /** The types of events that may take rights. */
  private readonly takingTypes: ReadonlySet<string>;
  private account = '';
  private lineNumber = 0;
  private recordedAt = '';
  private rightsPosition = 0;
  private pending: string[] = [];
  private characters = 0;

  constructor(
    private readonly client: Client,
    models: readonly AnyReadModel[],
  ) {
    this.knownTypes = new Map(
      models.flatMap(({ streamPrefixes, events }) =>
        streamPrefixes.map((prefix) => [prefix, new Set(Object.keys(events))] as const),
      ),
    );
    const facts = models.flatMap(({ events }) => Object.entries<EventFacts>(events));
    this.takingTypes = new Set(facts.filter(([, { takesRights }]) => takesRights === true).map(([type]) => type));
  }

  /** Resolves with the number of inserted lines, or undefined if it only buffered the line. */
  async add(line: string): Promise<number | undefined> {
    this.lineNumber += 1;
    const event = this.parseAndCheck(line);
    if (this.lineNumber === 1) await this.claimAccount(event.account_id);
    this.recordedAt = event.recorded_at;
    if (this.takingTypes.has(event.type)) this.rightsPosition = event.position;
    this.pending.push(line);
    this.characters += line.length;
    return this.characters >= INSERT_CHARACTERS ? this.insert() : undefined;
  }

  async end(): Promise<Imported> {
    if (this.lineNumber === 0) throw new LogFileError('the file is empty');
    await this.insert();
    await this.checkStreamVersions();
    await this.client.query(
      `update log_heads set size = $2, rights_position = $3,
         recorded_at = (select recorded_at from events where account_id = $1 and position = $2) where account_id = $1`,
      [this.account, this.lineNumber, this.rightsPosition],
    );
    return { account: this.account, events: this.lineNumber };
  }

  /** A query, since a map of all streams' versions would grow with the log. */
  private async checkStreamVersions(): Promise<void> {
    const { rows } = await this.client.query<{ position: string }>(WRONG_VERSION, [this.account]);
    if (rows[0] === undefined) return;
    throw new LogFileError(
      `line ${rows[0].position}: its stream_version does not follow the previous one of its stream`,
    );
  }

  /** Positions start at 1 without gaps, so the number of a line is the position of its event. */
  private parseAndCheck(line: string): LoggedEvent {
    const event = this.parse(line);
    const prefix = event.stream_id.slice(0, event.stream_id.lastIndexOf('_'));
    if (this.lineNumber > 1 && event.account_id !== this.account) {
      throw this.faulty(`its account is ${event.account_id}, but that of the previous lines is ${this.account}`);
    }
    if (event.position !== this.lineNumber) {
      throw this.faulty(`its position is ${event.position}; an imported log must start at position 1 and have no gaps`);
    }
    if (event.recorded_at <= this.recordedAt) throw this.faulty('recorded_at is not later than on the previous line');
    if (this.knownTypes.get(prefix)?.has(event.type) !== true) {
      throw this.faulty(
        `this version of the service does not know events of type ${event.type} in stream ${event.stream_id}`,
      );
    }
    const fault = formatFault(event);
    if (fault !== undefined) throw this.faulty(fault);
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

  private async insert(): Promise<number> {
    const lines = this.pending;
    this.pending = [];
    this.characters = 0;
    const before = this.lineNumber - lines.length;
    try {
      await this.client.query(INSERT, [`[${lines.join(',')}]`]);
      const { rows } = await this.client.query<{ position: string }>(WRONG_HASH, [
        this.account,
        before,
        this.lineNumber,
      ]);
      if (rows[0] !== undefined)
        throw new LogFileError(`line ${rows[0].position}: its leaf_hash is not the hash of the event`);
    } catch (error) {
      const failure = PostgresFailure.of(error);
      if (!failure.isAboutData || !(error instanceof Error)) throw error;
      throw new LogFileError(`lines ${before + 1} to ${this.lineNumber}: ${failure.constraint ?? ''} ${error.message}`);
    }
    return lines.length;
  }
}

const FIELDS =
  'account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at';
const INSERT = `insert into events (${FIELDS}, leaf_hash)
  select ${FIELDS}, decode(leaf_hash, 'hex') from json_to_recordset($1::json)
    as (account_id text, position bigint, stream_id text, stream_version int, event_id uuid, type text, data text,
      metadata text, occurred_at timestamptz, recorded_at timestamptz, leaf_hash text)`;
const WRONG_HASH = `select position from events where account_id = $1 and position > $2 and position <= $3
  and leaf_hash is distinct from event_leaf_hash(${FIELDS}) order by position limit 1`;
/** Uses the order of the index events_stream_version. */
const WRONG_VERSION = `select position from (
    select position, stream_version, lag(position) over stream as position_before, lag(stream_version) over stream as version_before
    from events where account_id = $1 window stream as (partition by stream_id order by stream_version)) e
  where stream_version <> coalesce(version_before, 0) + 1 or position < position_before order by position limit 1`;
