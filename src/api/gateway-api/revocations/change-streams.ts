import { Readable } from 'node:stream';
import type { OnModuleDestroy } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import { type Gateway, servesAccount } from '../../../kernel/caller.js';
import { Places } from '../../../kernel/places.js';
import type { ChangeWatch } from './change-watch.js';

export interface StreamLimits {
  /** The longest silence of a stream, so that each side notices that the other one is away. */
  readonly heartbeatMs: number;
  /** Maximum streams of one instance. */
  readonly maxStreams: number;
  /** Maximum streams of one token, user or bot at one instance: none can take the streams of all others. */
  readonly maxStreamsOfToken: number;
  /** What a stream may hold for a slow reader. */
  readonly maxUnreadBytes: number;
}

/** An event of a stream, after `ready`. */
export interface StreamEvent {
  readonly name: 'changed' | 'stopped' | 'reserved' | 'opened' | 'ended';
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
/** When a gateway should reconnect. */
const RETRY_MS = 1_000;
/** How long a reader may take to read the end of its stream before the connection is cut. */
const MAX_ENDING_MS = 1_000;

/**
 * Changes as Server-Sent Events. The service keeps nothing for a gateway. A stream begins with `ready`; when it ends,
 * the gateway opens another one and rechecks what it holds.
 */
export class ChangeStreams<Changed extends Ref = Ref> implements OnModuleDestroy {
  private readonly streams = new Set<Readable>();
  private readonly places: Places;
  private readonly behind = new WeakSet<Readable>();
  /** The number of the last event of each stream. */
  private readonly numbers = new WeakMap<Readable, number>();
  private heartbeat: NodeJS.Timeout | undefined;
  private isStopping = false;

  constructor(
    private readonly watch: ChangeWatch<Changed>,
    /** The events that tell of these changes, in their order. */
    private readonly eventsOf: (changed: readonly Changed[]) => Iterable<StreamEvent>,
    private readonly limits: StreamLimits = STREAM_LIMITS,
  ) {
    this.places = new Places([limits.maxStreams, limits.maxStreamsOfToken]);
  }

  /** Open streams of this process. */
  get size(): number {
    return this.streams.size;
  }

  /** Ends every stream, since an open connection would delay the shutdown. */
  onModuleDestroy(): void {
    this.isStopping = true;
    for (const stream of this.streams) end(stream);
  }

  /**
   * Opens a stream of the changes that the reader hears. Throws Problem 429 above the maximum of the reader, and 503 above
   * that of the instance. Rejects if the database is away.
   */
  async open(disconnected: AbortSignal, reader: StreamReader<Changed>): Promise<Readable> {
    const leave = this.enter(reader);
    const stream = this.make();
    const listener = {
      changed: (refs: readonly Changed[]) => {
        this.tell(
          stream,
          refs.flatMap((ref) => reader.heardOf(ref) ?? []),
        );
      },
      lost: () => end(stream),
    };
    stream.once('close', () => {
      this.watch.remove(listener);
      this.remove(stream);
      leave();
    });
    stream.push(`retry: ${RETRY_MS}\n\n`);
    try {
      await this.watch.add(listener);
    } catch (error) {
      stream.destroy();
      throw error;
    }
    this.event(stream, 'ready', {});
    if (this.isStopping) end(stream);
    // Without the signal a closed connection would be noticed only at the next message.
    if (disconnected.aborted) stream.destroy();
    disconnected.addEventListener('abort', () => stream.destroy(), { once: true });
    return stream;
  }

  private enter({ place, who, advice }: StreamReader<Changed>): () => void {
    const { maxStreams, maxStreamsOfToken } = this.limits;
    const own = `${who} already has ${maxStreamsOfToken} streams of changes at this instance; ${advice}.`;
    return this.places.enter([place], own, `This instance already has ${maxStreams} streams of changes; close one.`);
  }

  private make(): Readable {
    const stream = new Readable({ read: () => undefined });
    this.streams.add(stream);
    this.heartbeat ??= setInterval(() => this.beat(), this.limits.heartbeatMs).unref();
    return stream;
  }

  private remove(stream: Readable): void {
    this.streams.delete(stream);
    if (this.streams.size > 0) return;
    clearInterval(this.heartbeat);
    this.heartbeat = undefined;
  }

  private tell(stream: Readable, changed: readonly Changed[]): void {
    for (const { name, data } of this.eventsOf(changed)) this.event(stream, name, data);
  }

  /** Events of a stream are numbered from 0 on, so that its reader sees if one is lost on the way. */
  private event(stream: Readable, name: StreamEvent['name'] | 'ready', data: object): void {
    const number = (this.numbers.get(stream) ?? -1) + 1;
    this.numbers.set(stream, number);
    this.send(stream, `id: ${number}\nevent: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
  }

  private send(stream: Readable, text: string): void {
    if (stream.readableEnded || stream.destroyed) return;
    stream.push(text);
    if (stream.readableLength > this.limits.maxUnreadBytes) stream.destroy();
  }

  /**
   * Cuts a stream whose reader was behind at two beats: its changes would come too late. At one beat, a new stream may
   * have no reader yet.
   */
  private beat(): void {
    for (const stream of this.streams) {
      const wasBehind = this.behind.delete(stream);
      if (stream.readableLength === 0) this.send(stream, `: nothing new\nid: ${this.numbers.get(stream) ?? 0}\n\n`);
      else if (wasBehind) stream.destroy();
      else this.behind.add(stream);
    }
  }
}

/** Ends a stream. What its reader does not take soon is cut off. */
export function end(stream: Readable): void {
  if (!stream.destroyed) stream.push(null);
  setTimeout(() => stream.destroy(), MAX_ENDING_MS).unref();
}
