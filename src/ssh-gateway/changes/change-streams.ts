import { Readable } from 'node:stream';
import type { OnModuleDestroy } from '@nestjs/common';
import { Problem } from '../../problem.js';
import type { ChangeWatch } from './change-watch.js';
import type { ChangedRef } from './credential-changes.js';

export interface StreamLimits {
  /** The longest silence of a stream, so that each side notices that the other one is away. */
  readonly heartbeatMs: number;
  /** Of one instance. */
  readonly maxStreams: number;
  /** What a stream may hold for a slow reader. */
  readonly maxUnreadBytes: number;
}

const STREAM_LIMITS: StreamLimits = { heartbeatMs: 5_000, maxStreams: 100, maxUnreadBytes: 1024 * 1024 };
const MAX_IDS_IN_MESSAGE = 1_000;
/** When a gateway should reconnect. */
const RETRY_MS = 1_000;
/** How long a reader may take to read the end of its stream before the connection is cut. */
const MAX_ENDING_MS = 1_000;

/**
 * Changes of credentials as Server-Sent Events. Nothing is kept for a gateway: a stream begins with `ready`, and when it
 * ends, for whatever reason, the gateway opens another one and rechecks what it holds.
 */
export class ChangeStreams implements OnModuleDestroy {
  private readonly streams = new Set<Readable>();
  private heartbeat: NodeJS.Timeout | undefined;
  private isStopping = false;

  constructor(
    private readonly watch: ChangeWatch,
    private readonly limits: StreamLimits = STREAM_LIMITS,
  ) {}

  /** Open streams of this instance. */
  get size(): number {
    return this.streams.size;
  }

  /** Ends every stream, since an open connection would delay the shutdown. */
  onModuleDestroy(): void {
    this.isStopping = true;
    for (const stream of this.streams) end(stream);
  }

  /** Of one account, or of all. Throws Problem 429 if there are too many streams. Rejects if the database is away. */
  async open(disconnected: AbortSignal, accountId?: string): Promise<Readable> {
    const stream = this.enter();
    const listener = {
      changed: (credentials: readonly ChangedRef[]) => {
        const told = credentials.filter((one) => accountId === undefined || one.accountId === accountId);
        this.send(stream, messagesOf(told));
      },
      lost: () => end(stream),
    };
    stream.once('close', () => {
      this.watch.remove(listener);
      this.leave(stream);
    });
    stream.push(`retry: ${RETRY_MS}\n\n`);
    try {
      await this.watch.add(listener);
    } catch (error) {
      stream.destroy();
      throw error;
    }
    this.send(stream, 'event: ready\ndata: {}\n\n');
    if (this.isStopping) end(stream);
    // Without the signal a closed connection would be noticed only at the next message.
    if (disconnected.aborted) stream.destroy();
    disconnected.addEventListener('abort', () => stream.destroy(), { once: true });
    return stream;
  }

  private enter(): Readable {
    const { maxStreams, heartbeatMs } = this.limits;
    if (this.streams.size >= maxStreams) {
      const message = `This instance already has ${maxStreams} streams of changes; close one.`;
      throw new Problem('too_many_requests', message);
    }
    const stream = new Readable({ read: () => undefined });
    this.streams.add(stream);
    this.heartbeat ??= setInterval(() => this.beat(), heartbeatMs).unref();
    return stream;
  }

  private leave(stream: Readable): void {
    this.streams.delete(stream);
    if (this.streams.size > 0) return;
    clearInterval(this.heartbeat);
    this.heartbeat = undefined;
  }

  private send(stream: Readable, text: string): void {
    if (text === '' || stream.readableEnded || stream.destroyed) return;
    stream.push(text);
    if (stream.readableLength > this.limits.maxUnreadBytes) stream.destroy();
  }

  /** A stream that still holds something for its reader since then is cut: what it says comes too late. */
  private beat(): void {
    for (const stream of this.streams) {
      if (stream.readableLength > 0) stream.destroy();
      else this.send(stream, ': nothing new\n\n');
    }
  }
}

function messagesOf(credentials: readonly ChangedRef[]): string {
  const messages: string[] = [];
  for (let n = 0; n < credentials.length; n += MAX_IDS_IN_MESSAGE) {
    const ids = credentials.slice(n, n + MAX_IDS_IN_MESSAGE).map(({ id }) => id);
    messages.push(`event: changed\ndata: ${JSON.stringify({ credential_ids: ids })}\n\n`);
  }
  return messages.join('');
}

function end(stream: Readable): void {
  if (!stream.destroyed) stream.push(null);
  setTimeout(() => stream.destroy(), MAX_ENDING_MS).unref();
}
