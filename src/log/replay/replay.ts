import type { ClientBase } from 'pg';
import { sqlLiteral } from '../../database/copy/sql-literal.js';
import { atOnce, fetchRows, type RunOnConnection, readAhead, readBy } from '../../database/cursor.js';
import { OperatorError } from '../../operator-error.js';
import { type StreamEnd, type StreamEvent, StreamRules } from '../checks/stream-order.js';
import type { DomainEvent } from '../event.js';
import { type AnyReadModel, currentEvent, type EntityRow, entityOf } from '../read-model.js';

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

/** JSON does not contain it, so it separates the fields of an event from its data. */
const SEPARATOR = '\u0001';

/**
 * The field of `events e` that replay reads: all columns in one text, since to make a row object of them takes three
 * times as long as to split it. The time is in milliseconds.
 */
export const REPLAYED_EVENT = `concat_ws('${SEPARATOR}', e.account_id, e.stream_id, e.stream_version, e.position,
  e.type, floor(extract(epoch from e.occurred_at) * 1000), e.data) as event`;

interface ReplayedEvent extends StreamEvent {
  readonly accountId: string;
  readonly streamId: string;
  readonly occurredAt: Date;
  readonly data: string;
}

function parseEvent(event: string): ReplayedEvent {
  const [accountId = '', streamId = '', version, position, type = '', occurredAt, data = ''] = event.split(SEPARATOR);
  const at = new Date(Number(occurredAt));
  return { accountId, streamId, version: Number(version), position: Number(position), type, occurredAt: at, data };
}

/**
 * Query for the events of a read model's streams, of one account or of all. Sorted by stream, so that replay holds one
 * entity at a time. The index events_stream_version has this order.
 */
export function eventsOf(model: AnyReadModel, accountId?: string): string {
  const ofAccount = accountId === undefined ? '' : ` and e.account_id = ${sqlLiteral(accountId)}`;
  const parts = model.streamPrefixes.map((prefix) => `select * from events e where ${hasPrefix(prefix)}${ofAccount}`);
  return `select ${REPLAYED_EVENT} from (${parts.join(' union all ')}) e order by account_id, stream_id, stream_version`;
}

/** Keeps PostgreSQL from sorting a whole log that an index has in order. */
export const IN_INDEX_ORDER =
  'set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off';

/** SQL that picks the events `e` of a read model. */
export const isOfModel = ({ streamPrefixes }: AnyReadModel): string =>
  `(${streamPrefixes.map(hasPrefix).join(' or ')})`;

/** As a range, which the index can use: the character after `_` is the backtick. */
const hasPrefix = (prefix: string): string => `e.stream_id >= '${prefix}_' and e.stream_id < '${prefix}\`'`;

/** Estimated number of events of a read model's streams; an exact count is slow on a long log. */
export async function estimatedEvents(client: ClientBase, model: AnyReadModel, accountId?: string): Promise<number> {
  const ofAccount = accountId === undefined ? '' : ` and e.account_id = ${sqlLiteral(accountId)}`;
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select from events e where ${isOfModel(model)}${ofAccount}`,
  );
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** Finds the entity that a stream's events are folded onto, if the query leaves out the stream's first events. */
type FindPriorEntity = (accountId: string, id: string) => EntityRow | undefined;

interface ReplayOptions {
  /** Gets the size of each batch. */
  readonly onEvents?: (count: number) => void;
  readonly findPriorEntity?: FindPriorEntity;
  /** Of a connection on which the rows are written too. */
  readonly run?: RunOnConnection;
}

/** Folds the events of a query in the order of `eventsOf`. Yields batches. */
export async function* replay(
  client: ClientBase,
  model: AnyReadModel,
  query: string,
  { onEvents, findPriorEntity = () => undefined, run = atOnce }: ReplayOptions = {},
): AsyncGenerator<ReplayedStream[]> {
  const folding = new Folding(model, findPriorEntity);
  const batches = fetchRows<{ event: string }>(client, query);
  for await (const rows of readAhead(readBy(run, batches))) {
    yield folding.take(rows);
    onEvents?.(rows.length);
  }
  yield folding.end();
}

/** Folds events, stream after stream. */
class Folding {
  private readonly rules: StreamRules;
  private accountId = '';
  private id = '';
  private last: StreamEnd | undefined;
  /** Undefined before the creation and after the deletion. */
  private state: object | undefined;
  private createdAt = new Date(0);

  constructor(
    private readonly model: AnyReadModel,
    private readonly findPriorEntity: FindPriorEntity,
  ) {
    this.rules = new StreamRules([model]);
  }

  /** Returns the streams that ended among these events. */
  take(rows: readonly { readonly event: string }[]): ReplayedStream[] {
    const ended: ReplayedStream[] = [];
    for (const row of rows) {
      const event = parseEvent(row.event);
      const { accountId, streamId } = event;
      if (streamId !== this.id || accountId !== this.accountId) {
        ended.push(...this.end());
        this.beginStream(accountId, streamId);
      }
      this.fold(event);
    }
    return ended;
  }

  /** Returns the last stream. */
  end(): ReplayedStream[] {
    const { accountId, id, last, createdAt, state } = this;
    this.last = undefined;
    this.state = undefined;
    if (last === undefined) return [];
    const entity = state === undefined ? undefined : entityOf({ accountId, id }, last.version, createdAt, state);
    return [{ accountId, id, entity }];
  }

  private beginStream(accountId: string, id: string): void {
    const before = this.findPriorEntity(accountId, id);
    this.accountId = accountId;
    this.id = id;
    this.state = before;
    if (before === undefined) return;
    this.last = { version: before.version, position: 0, hasEnded: false };
    this.createdAt = before.created_at;
  }

  private fold(event: ReplayedEvent): void {
    const current = this.parse(event);
    const fault = this.rules.faultOf(event, this.last);
    if (fault !== undefined) throw failure(event, fault);
    if (this.last === undefined) this.createdAt = event.occurredAt;
    this.state = this.model.evolve(this.state, current);
    this.last = this.rules.endWith(event);
  }

  private parse(event: ReplayedEvent): DomainEvent {
    const { type, occurredAt } = event;
    const current = currentEvent(this.model, { type, data: dataOf(event) });
    if (current === undefined) {
      throw failure(event, `this version of the service does not know events of type ${type} in this stream`);
    }
    if (Number.isNaN(occurredAt.getTime())) {
      throw failure(event, 'its occurred_at is beyond the range of times in JavaScript');
    }
    return current;
  }
}

function dataOf(event: ReplayedEvent): object {
  try {
    return JSON.parse(event.data);
  } catch (error) {
    throw failure(event, 'its data is not JSON', error);
  }
}

function failure({ accountId, position, streamId }: ReplayedEvent, what: string, cause?: unknown): ReplayError {
  return new ReplayError(`account ${accountId}, position ${position} (stream ${streamId}): ${what}`, { cause });
}
