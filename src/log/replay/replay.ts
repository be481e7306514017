import type { Client } from 'pg';
import { FieldReader } from '../../database/copy-binary.js';
import { type CopiedRows, copyOut } from '../../database/copy-out.js';
import { StringCache } from '../../database/string-cache.js';
import { OperatorError } from '../../operator-error.js';
import type { DomainEvent } from '../event.js';
import { type AnyReadModel, type EntityRow, entityOf } from '../read-model.js';

/** One stream after all its events. The entity is undefined when the stream ended with a deletion. */
export interface ReplayedStream {
  readonly accountId: string;
  readonly id: string;
  readonly entity: EntityRow | undefined;
}

/** Events that cannot be folded: the log is damaged, or a newer version of the service wrote them. */
export class ReplayError extends OperatorError {
  override readonly name = 'ReplayError';
}

/** The columns of an event that replay reads, in the order of `Folding.take`. */
export const REPLAYED_COLUMNS = [
  'account_id',
  'stream_id',
  'stream_version',
  'position',
  'type',
  'occurred_at',
  'data',
];

/**
 * Query for the events of a read model's streams, of one account or of all. Sorted by stream, so that replay holds one
 * entity at a time. The index events_stream_version has this order.
 */
export function eventsOf(model: AnyReadModel, accountId?: string): string {
  const ofAccount = accountId === undefined ? '' : ` and e.account_id = ${sqlLiteral(accountId)}`;
  const parts = model.streamPrefixes.map(
    (prefix) => `select ${COLUMNS} from events e where ${hasPrefix(prefix)}${ofAccount}`,
  );
  return `${parts.join(' union all ')} order by account_id, stream_id, stream_version`;
}

/** Keeps PostgreSQL from sorting a whole log that an index has in order. */
export const IN_INDEX_ORDER =
  'set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off';

const COLUMNS = REPLAYED_COLUMNS.map((column) => `e.${column}`).join(', ');

/** SQL that picks the events `e` of a read model. */
export const isOfModel = ({ streamPrefixes }: AnyReadModel): string =>
  `(${streamPrefixes.map(hasPrefix).join(' or ')})`;

/** As a range, which the index can use: the character after `_` is the backtick. */
const hasPrefix = (prefix: string): string => `e.stream_id >= '${prefix}_' and e.stream_id < '${prefix}\`'`;

export const sqlLiteral = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** Estimated number of events of a read model's streams; an exact count is slow on a long log. */
export async function estimatedEvents(client: Client, model: AnyReadModel, accountId?: string): Promise<number> {
  const ofAccount = accountId === undefined ? '' : ` and e.account_id = ${sqlLiteral(accountId)}`;
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select from events e where ${isOfModel(model)}${ofAccount}`,
  );
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** Finds the entity that a stream's events are folded onto, if the query leaves out the stream's first events. */
export type FindPriorEntity = (accountId: string, id: string) => EntityRow | undefined;

/** Folds the events of a query in the order of `eventsOf`. Yields batches; `onEvents` gets the size of each. */
export async function* replay(
  client: Client,
  model: AnyReadModel,
  query: string,
  onEvents: (count: number) => void = () => undefined,
  findPriorEntity?: FindPriorEntity,
): AsyncGenerator<ReplayedStream[]> {
  const folding = new Folding(model, findPriorEntity);
  for await (const rows of copyOut(client, query)) {
    yield folding.take(rows);
    onEvents(rows.starts.length);
  }
  yield folding.end();
}

/** Folds rows of REPLAYED_COLUMNS, stream after stream. */
export class Folding {
  private accountId = '';
  private id = '';
  private version = 0;
  private position = 0;
  /** Undefined before the creation and after the deletion. */
  private state: object | undefined;
  private createdAt = new Date(0);
  private readonly accounts = new StringCache();
  private readonly types = new StringCache();

  constructor(
    private readonly model: AnyReadModel,
    private readonly findPriorEntity: FindPriorEntity = () => undefined,
  ) {}

  /** Stream of the last event, and the event's version in it. */
  get last(): { readonly id: string; readonly version: number } {
    return { id: this.id, version: this.version };
  }

  /** Returns the streams that ended among these rows. */
  take({ bytes, starts }: CopiedRows): ReplayedStream[] {
    const ended: ReplayedStream[] = [];
    const fields = new FieldReader(bytes);
    for (const start of starts) {
      fields.beginRow(start);
      const accountId = fields.cachedText(this.accounts);
      const id = fields.text();
      if (id !== this.id || accountId !== this.accountId) {
        this.endStream(ended);
        this.beginStream(accountId, id);
      }
      this.fold(fields);
    }
    return ended;
  }

  /** Returns the last stream. */
  end(): ReplayedStream[] {
    const ended: ReplayedStream[] = [];
    this.endStream(ended);
    return ended;
  }

  private beginStream(accountId: string, id: string): void {
    const before = this.findPriorEntity(accountId, id);
    this.accountId = accountId;
    this.id = id;
    this.version = before?.version ?? 0;
    this.state = before;
    if (before !== undefined) this.createdAt = before.created_at;
  }

  private endStream(ended: ReplayedStream[]): void {
    const { accountId, id, version, createdAt, state } = this;
    const entity = state === undefined ? undefined : entityOf({ accountId, id }, version, createdAt, state);
    if (version > 0) ended.push({ accountId, id, entity });
    this.version = 0;
    this.state = undefined;
  }

  /** The fields behind the account and the stream. */
  private fold(fields: FieldReader): void {
    const version = fields.int32();
    this.position = fields.int64();
    const type = fields.cachedText(this.types);
    const occurredAt = fields.time();
    this.version += 1;
    if (version !== this.version) {
      throw this.failure(`its stream version is ${version}; the expected version is ${this.version}`);
    }
    const event: DomainEvent = { type, data: this.parsed(type, fields.text()) };
    if (Number.isNaN(occurredAt.getTime()))
      throw this.failure('its occurred_at is beyond the range of times in JavaScript');
    const state = this.model.evolve(this.state, event);
    if (this.state === undefined && state !== undefined) this.beginEntity(type, occurredAt);
    this.state = state;
  }

  /** Only the first event of a stream creates its entity. */
  private beginEntity(type: string, createdAt: Date): void {
    if (this.version > 1) throw this.failure(`an event of type ${type} comes after the stream's deletion`);
    this.createdAt = createdAt;
  }

  private parsed(type: string, data: string): object {
    if (!Object.hasOwn(this.model.events, type)) {
      throw this.failure(`this version of the service does not know events of type ${type} in this stream`);
    }
    try {
      return JSON.parse(data);
    } catch (error) {
      throw this.failure('its data is not JSON', error);
    }
  }

  private failure(what: string, cause?: unknown): ReplayError {
    const location = `account ${this.accountId}, position ${this.position} (stream ${this.id})`;
    return new ReplayError(`${location}: ${what}`, { cause });
  }
}
