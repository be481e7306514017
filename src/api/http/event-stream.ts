import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';

export const EVENT_STREAM = 'text/event-stream';

/** When a client should reconnect. */
const RETRY_MS = 1_000;
/** How long a reader may take to read the end of its stream before the connection is cut. */
const MAX_ENDING_MS = 1_000;

export interface EventStreamLimits {
  /** The longest silence of a stream, so that each side notices that the other one is away. */
  readonly heartbeatMs: number;
  /** A stream with a maximum is cut when its reader leaves more, or is behind at two heartbeats. */
  readonly maxUnreadBytes?: number;
}

/** Whether the reader of a stream may still read it, checked in the database. */
export type StillAuthorized = () => Promise<boolean>;

/** Server-Sent Events for one reader. A heartbeat has the id of the last event. */
export class EventStream extends Readable {
  private readonly ending = new AbortController();
  private readonly heartbeat: NodeJS.Timeout;
  private lastId = 0;
  private events = 0;
  private isBehind = false;
  private isTaken = false;
  private waiting: (() => void)[] = [];

  /** Ends when `disconnected` aborts; without that signal a closed connection would be noticed at the next message. */
  constructor(
    disconnected: AbortSignal,
    private readonly limits: EventStreamLimits,
  ) {
    super();
    this.heartbeat = setInterval(() => this.beat(), limits.heartbeatMs).unref();
    this.once('close', () => this.stop());
    this.push(`retry: ${RETRY_MS}\n\n`);
    if (disconnected.aborted) this.destroy();
    disconnected.addEventListener('abort', () => this.destroy(), { once: true });
  }

  /** Aborts when the stream ends or is closed. */
  get ended(): AbortSignal {
    return this.ending.signal;
  }

  /** Calls back when the stream ends or is closed. */
  onEnd(callback: () => void): void {
    this.ended.addEventListener('abort', callback, { once: true });
  }

  /** Sends messages, the last of which has this id. */
  send(text: string, id = this.lastId): void {
    this.lastId = id;
    if (this.ended.aborted || text === '') return;
    this.isTaken = false;
    this.push(text);
    if (this.readableLength > (this.limits.maxUnreadBytes ?? Number.POSITIVE_INFINITY)) this.destroy();
  }

  /** Sends an event. They are numbered from 0 on, so that the reader sees if one is lost on the way. */
  event(name: string, data: object): void {
    this.send(eventText(this.events, name, JSON.stringify(data)), this.events);
    this.events += 1;
  }

  /** Resolves when the reader has taken what was sent, or the stream has ended. */
  taken(): Promise<void> {
    if (this.isTaken || this.ended.aborted) return Promise.resolve();
    return new Promise((resolve) => void this.waiting.push(resolve));
  }

  /** Node calls this when its buffer has room. */
  override _read(): void {
    this.isTaken = true;
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Ends the stream. What its reader does not take soon is cut off. */
  finish(): void {
    if (this.ended.aborted) return;
    this.stop();
    this.push(null);
    setTimeout(() => this.destroy(), MAX_ENDING_MS).unref();
  }

  /** Ends the stream soon after its reader's key was revoked or its owner lost the role. */
  async endUnless(stillAuthorized: StillAuthorized, checkEveryMs: number): Promise<void> {
    while (!this.ended.aborted) {
      await sleep(checkEveryMs, undefined, { ref: false });
      if (!this.ended.aborted && !(await stillAuthorized())) this.finish();
    }
  }

  private stop(): void {
    clearInterval(this.heartbeat);
    this.ending.abort();
    for (const resolve of this.waiting.splice(0)) resolve();
  }

  /** Two beats, since a new stream may have no reader at the first one. */
  private beat(): void {
    const wasBehind = this.isBehind;
    this.isBehind = this.readableLength > 0;
    if (!this.isBehind) this.send(`: nothing new\nid: ${this.lastId}\n\n`);
    else if (wasBehind && this.limits.maxUnreadBytes !== undefined) this.destroy();
  }
}

/** One message. `data` is one line. */
export const eventText = (id: number | undefined, name: string | undefined, data: string): string =>
  `${id === undefined ? '' : `id: ${id}\n`}${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`;

/** Answers with a stream; HEAD with its headers alone. */
export async function answerStream(
  request: FastifyRequest,
  reply: FastifyReply,
  open: () => Promise<Readable> | Readable,
): Promise<void> {
  const stream = request.method === 'HEAD' ? '' : await open();
  void reply.header('content-type', EVENT_STREAM).header('x-accel-buffering', 'no').send(stream);
}
