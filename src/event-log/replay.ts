import type { Client } from 'pg';
import { copyOut } from '../database/copy.js';
import { timeOf, unescaped } from '../database/copy-text.js';
import type { DomainEvent } from './event.js';
import { type AnyReadModel, type Entity, fold } from './read-model.js';

/** One stream after all its events; the entity is undefined once the thing is deleted. */
export interface ReplayedStream {
  readonly accountId: string;
  readonly id: string;
  readonly entity: Entity<unknown> | undefined;
}

/** Events that cannot be folded: the log is damaged, or a newer version of the service wrote them. */
export class ReplayError extends Error {
  override readonly name = 'ReplayError';
}

/** What replay reads of an event, in the order of `eventOf`. */
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
 * The events of a read model's streams, of one account or of all, stream after stream: so one entity at a time is folded,
 * whatever the size of the log. It is the order of the index events_stream_version.
 */
export function eventsOf(model: AnyReadModel, accountId?: string): string {
  const ofAccount = accountId === undefined ? '' : ` and e.account_id = ${quoted(accountId)}`;
  const parts = model.streamPrefixes.map(
    (prefix) => `select ${COLUMNS} from events e where ${hasPrefix(prefix)}${ofAccount}`,
  );
  return `${parts.join(' union all ')} order by account_id, stream_id, stream_version`;
}

/** Keeps PostgreSQL from sorting a whole log where an index has the order. */
export const IN_INDEX_ORDER =
  'set local enable_sort = off; set local enable_seqscan = off; set local enable_bitmapscan = off';

const COLUMNS = REPLAYED_COLUMNS.map((column) => `e.${column}`).join(', ');

/** SQL that picks the events `e` of a read model. */
export const isOfModel = ({ streamPrefixes }: AnyReadModel): string =>
  `(${streamPrefixes.map(hasPrefix).join(' or ')})`;

/** As a range, which the index can use: the character after `_` is the backtick. */
const hasPrefix = (prefix: string): string => `e.stream_id >= '${prefix}_' and e.stream_id < '${prefix}\`'`;

export const quoted = (text: string): string => `'${text.replaceAll("'", "''")}'`;

/** About how many events a read model's streams have; counting them would take a while. */
export async function estimatedEvents(client: Client, model: AnyReadModel, accountId?: string): Promise<number> {
  const ofAccount = accountId === undefined ? '' : ` and e.account_id = ${quoted(accountId)}`;
  const { rows } = await client.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select from events e where ${isOfModel(model)}${ofAccount}`,
  );
  return rows[0]?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0;
}

/** The state that a stream's events are folded onto, where the first of them are left out. */
export type Before = (accountId: string, id: string) => Entity<unknown> | undefined;

/** Folds the events that a query gives in the order of `eventsOf`; answers in batches, `onEvents` hears how many were read. */
export async function* replay(
  client: Client,
  model: AnyReadModel,
  query: string,
  onEvents: (count: number) => void = () => undefined,
  before?: Before,
): AsyncGenerator<ReplayedStream[]> {
  const folding = new Folding(model, before);
  for await (const lines of copyOut(client, query)) {
    yield folding.take(lines);
    onEvents(lines.length);
  }
  yield folding.end();
}

/** Folds lines of REPLAYED_COLUMNS, stream after stream. */
export class Folding {
  private accountId = '';
  private id = '';
  private version = 0;
  private entity: Entity<unknown> | undefined;

  constructor(
    private readonly model: AnyReadModel,
    private readonly before: Before = () => undefined,
  ) {}

  /** Answers with the streams that ended among these lines. */
  take(lines: readonly string[]): ReplayedStream[] {
    const ended: ReplayedStream[] = [];
    for (const line of lines) {
      const fields = line.split('\t');
      const [accountId = '', id = ''] = fields;
      if (id !== this.id || accountId !== this.accountId) {
        this.endStream(ended);
        this.beginStream(accountId, id);
      }
      this.fold(fields);
    }
    return ended;
  }

  /** Answers with the last stream. */
  end(): ReplayedStream[] {
    const ended: ReplayedStream[] = [];
    this.endStream(ended);
    return ended;
  }

  private beginStream(accountId: string, id: string): void {
    this.accountId = accountId;
    this.id = id;
    this.entity = this.before(accountId, id);
    this.version = this.entity?.version ?? 0;
  }

  private endStream(ended: ReplayedStream[]): void {
    if (this.version > 0) ended.push({ accountId: this.accountId, id: this.id, entity: this.entity });
    this.version = 0;
    this.entity = undefined;
  }

  private fold([, , versionText, position, type = '', occurredAt = '', data = '']: readonly string[]): void {
    this.version += 1;
    const where = (): string => `account ${this.accountId}, position ${position} (stream ${this.id})`;
    if (Number(versionText) !== this.version) {
      throw new ReplayError(`${where()}: its stream version is ${versionText}, and ${this.version} must come next`);
    }
    const event: DomainEvent = { type, data: this.parsed(type, data, where) };
    const stream = { accountId: this.accountId, id: this.id };
    this.entity = fold(this.model, stream, this.entity, [event], this.entity?.createdAt ?? timeOf(occurredAt));
    if (this.entity !== undefined && this.entity.version !== this.version) {
      throw new ReplayError(`${where()}: an event of type ${type} comes after the stream's deletion`);
    }
  }

  private parsed(type: string, data: string, where: () => string): object {
    if (!Object.hasOwn(this.model.events, type)) {
      throw new ReplayError(`${where()}: this version of the service knows no event of type ${type} there`);
    }
    try {
      return JSON.parse(unescaped(data));
    } catch (error) {
      throw new ReplayError(`${where()}: its data is not JSON`, { cause: error });
    }
  }
}
