import type { OnModuleDestroy } from '@nestjs/common';
import type { Pool } from 'pg';
import {
  type NamedStatement,
  type NewRows,
  onlyRow,
  queryNamed,
  type Ref,
  type RowReader,
} from '../../../database/index.js';
import type { LogTail, TailEvent } from '../../../event-log/index.js';
import { type Gateway, servesAccount } from '../../../kernel/caller.js';
import { messageOf } from '../../../kernel/error-message.js';
import { Places } from '../../../kernel/places.js';
import { EventStream, type EventStreamLimits } from '../../http/event-stream.js';

export interface StreamLimits extends EventStreamLimits {
  /** Maximum streams of one instance. */
  readonly maxStreams: number;
  /** Maximum streams of one token, user or bot at one instance: none can take the streams of all others. */
  readonly maxStreamsOfToken: number;
}

/** An event of a stream, after `ready`. */
export interface StreamEvent {
  readonly name: 'changed' | 'stopped' | 'reserved' | 'opened' | 'doubled' | 'ended';
  readonly data: object;
}

/** Who reads a stream. */
export interface StreamReader<Changed> {
  /** Streams of one place count together, under this limit. */
  readonly place: string;
  /** The begin of a sentence about its streams. */
  readonly who: string;
  /** The end of the sentence that refuses another stream. */
  readonly advice: string;
  /** What the reader may know of a change; undefined for nothing. */
  heardOf(changed: Changed): Changed | undefined;
}

/** A gateway hears of the accounts that it serves. */
export const gatewayReader = <Changed extends Ref>(gateway: Gateway): StreamReader<Changed> => ({
  place: `of token ${gateway.identity}`,
  who: 'This token',
  advice: 'close one, or give each gateway a token of its own',
  heardOf: (changed) => (servesAccount(gateway, changed.accountId) ? changed : undefined),
});

export const STREAM_LIMITS: StreamLimits = {
  heartbeatMs: 5_000,
  maxStreams: 100,
  maxStreamsOfToken: 10,
  maxUnreadBytes: 1024 * 1024,
};
/** Without new rows, only every fourth look asks what the time has changed. */
const LOOKS_BETWEEN_TIMES = 4;

/** By the database's clock. */
export interface TimeSpan {
  readonly since: string;
  readonly until: string;
}

/**
 * Changes as Server-Sent Events. The service keeps nothing for a gateway. A stream begins with `ready`; when it ends,
 * the gateway opens another one and rechecks what it holds.
 */
export abstract class ChangeStreams<Row, Changed extends Ref = Ref> implements OnModuleDestroy, RowReader<Row> {
  private readonly streams = new Map<EventStream, StreamReader<Changed>>();
  private readonly places: Places;
  private looks = 0;
  private since: string | undefined;
  /** The look-ups, one after the other. */
  private looking = Promise.resolve();
  private isStopping = false;

  constructor(
    private readonly rows: Pick<NewRows<Row>, 'add' | 'remove'>,
    private readonly warn: (message: string) => void,
    private readonly limits: StreamLimits = STREAM_LIMITS,
  ) {
    this.places = new Places([limits.maxStreams, limits.maxStreamsOfToken]);
  }

  protected abstract concerns(row: Row): boolean;
  /** What changed by these rows, or by the passing of time. Undefined: too much. */
  abstract changedBy(rows: readonly Row[], span: TimeSpan): Promise<readonly Changed[] | undefined>;
  /** The events that tell of these changes, in their order. */
  protected abstract eventsOf(changed: readonly Changed[]): Iterable<StreamEvent>;

  /** Open streams of this process. */
  get size(): number {
    return this.streams.size;
  }

  /** Ends every stream, since an open connection would delay the shutdown. */
  onModuleDestroy(): void {
    this.isStopping = true;
    this.lost();
  }

  /**
   * Opens a stream of the changes that the reader hears. Throws Problem 429 above the maximum of the reader, and 503 above
   * that of the instance. Rejects if the database is away.
   */
  async open(disconnected: AbortSignal, reader: StreamReader<Changed>): Promise<EventStream> {
    const leave = this.enter(reader);
    const stream = new EventStream(disconnected, this.limits);
    this.streams.set(stream, reader);
    stream.once('close', () => {
      this.streams.delete(stream);
      if (this.size === 0) this.stop();
      leave();
    });
    try {
      const now = await this.rows.add(this);
      this.since ??= now;
    } catch (error) {
      stream.destroy();
      throw error;
    }
    stream.event('ready', {});
    if (this.isStopping) stream.finish();
    return stream;
  }

  news(rows: readonly Row[], now: string): void {
    const concerned = rows.filter((row) => this.concerns(row));
    this.looks += 1;
    if (concerned.length === 0 && this.looks % LOOKS_BETWEEN_TIMES > 0) return;
    const span = { since: this.since ?? now, until: now };
    this.since = now;
    this.looking = this.looking.then(() => this.look(concerned, span));
  }

  /** Each stream ends, so that its reader opens another one and asks anew. */
  lost(): void {
    this.since = undefined;
    for (const stream of this.streams.keys()) stream.finish();
  }

  private stop(): void {
    this.rows.remove(this);
    this.since = undefined;
  }

  private async look(rows: readonly Row[], span: TimeSpan): Promise<void> {
    if (this.since === undefined) return;
    try {
      const changed = await this.changedBy(rows, span);
      if (changed === undefined) throw new Error('too many changes at once');
      for (const [stream, reader] of this.streams) {
        const heard = changed.flatMap((one) => reader.heardOf(one) ?? []);
        for (const { name, data } of this.eventsOf(heard)) stream.event(name, data);
      }
    } catch (error) {
      this.warn(`readers of a stream of changes must ask anew: ${messageOf(error)}`);
      this.stop();
      this.lost();
    }
  }

  private enter({ place, who, advice }: StreamReader<Changed>): () => void {
    const { maxStreams, maxStreamsOfToken } = this.limits;
    const own = `${who} already has ${maxStreamsOfToken} streams of changes at this instance; ${advice}.`;
    return this.places.enter([place], own, `This instance already has ${maxStreams} streams of changes; close one.`);
  }
}

/** SQL of the events that a look-up is about: $1. $2 and $3 are its span. */
export const TOLD = `told as materialized (
  select * from json_to_recordset($1::json) as t(account_id text, stream_id text, type text, position bigint))`;

/** Streams of what the events of the log mean, as a statement finds it. */
export abstract class LogChangeStreams<Changed extends Ref> extends ChangeStreams<TailEvent, Changed> {
  protected abstract readonly statement: NamedStatement;

  constructor(
    tail: Pick<LogTail, 'add' | 'remove'>,
    private readonly pool: Pool,
    warn: (message: string) => void,
    limits?: StreamLimits,
  ) {
    super(tail, warn, limits);
  }

  async changedBy(events: readonly TailEvent[], { since, until }: TimeSpan): Promise<readonly Changed[] | undefined> {
    type Found = { readonly isTooMany: boolean; readonly changed: readonly Changed[] };
    const { rows } = await queryNamed<Found>(this.pool, this.statement, [JSON.stringify(events), since, until]);
    const { isTooMany, changed } = onlyRow(rows);
    return isTooMany ? undefined : changed;
  }
}
