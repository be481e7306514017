import { setImmediate } from 'node:timers/promises';
import type { Client, Connection } from 'pg';
import { headerLength, TRAILER } from './copy-binary.js';

/** Rows in COPY's binary format: the received bytes, and where in them each row starts and ends. */
export interface CopiedRows {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/**
 * Yields the rows of a query in COPY's binary format, in batches as they arrive; PostgreSQL waits for a slow reader.
 * COPY takes no parameters, so quote every value in `query`. A caller that stops early must end the connection.
 */
export async function* copyOut(client: Client, query: string): AsyncGenerator<CopiedRows> {
  const reading = client.query(new CopyOut(`copy (${query}) to stdout (format binary)`));
  for (let rows = await reading.next(); rows !== undefined; rows = await reading.next()) yield rows;
}

/** PostgreSQL continues while the caller works on received rows. */
const READ_AHEAD_BYTES = 1 << 20;
/** Rows handed out before other callbacks run. Smaller than one chunk of a socket, which is at most 64 KiB. */
const BYTES_PER_TURN = 1 << 14;

type Listener = (bytes: Buffer) => void;
type Arrived = { readonly bytes: Buffer; readonly starts: number[]; readonly ends: number[] };

/**
 * A query object for pg's client. It reads the rows from the socket itself and passes every other message to pg: pg
 * would make an object of each row, which costs as much as all later work on the row.
 */
class CopyOut {
  private stream: Connection['stream'] | undefined;
  private toPg: Listener = () => undefined;
  private arrived: CopiedRows[] = [];
  /** Parts of an incomplete message, their size, and the size needed to read on. */
  private parts: Buffer[] = [];
  private size = 0;
  private needed = 0;
  private ahead = 0;
  private sinceTurn = 0;
  private isHeaderRead = false;
  private isEnded = false;
  private failure: unknown;
  private wake: () => void = () => undefined;

  constructor(private readonly text: string) {}

  /** Undefined after the last row. */
  async next(): Promise<CopiedRows | undefined> {
    // A stream that always has rows would block all other callbacks, for example requests that write.
    if (this.sinceTurn >= BYTES_PER_TURN) await this.yieldToEventLoop();
    while (this.arrived.length === 0 && !this.isEnded) {
      await new Promise<void>((resolve) => {
        this.wake = resolve;
      });
    }
    if (this.failure !== undefined) throw this.failure;
    const rows = this.arrived.shift();
    const size = rows?.bytes.length ?? 0;
    this.ahead -= size;
    this.sinceTurn += size;
    // Only at half the limit: to pause and resume for every chunk costs as much as to read it.
    if (this.ahead <= READ_AHEAD_BYTES / 2) this.stream?.resume();
    return rows;
  }

  private async yieldToEventLoop(): Promise<void> {
    this.sinceTurn = 0;
    await setImmediate();
  }

  submit(connection: Connection): void {
    this.stream = connection.stream;
    this.toPg = this.stream.listeners('data')[0] as Listener;
    this.stream.off('data', this.toPg).on('data', this.read);
    connection.query(this.text);
  }

  handleCommandComplete(): void {
    // ReadyForQuery marks the end: only then can the next query run.
  }

  handleReadyForQuery(): void {
    if (this.isEnded) return;
    this.stream?.off('data', this.read).on('data', this.toPg).resume();
    this.isEnded = true;
    this.wake();
  }

  /** Ends the query at once: pg no longer passes the later ReadyForQuery on, and a lost connection sends none. */
  handleError(failure: unknown): void {
    this.failure ??= failure;
    this.handleReadyForQuery();
  }

  private readonly read = (chunk: Buffer): void => {
    let from = 0;
    // Join only the message that spans two chunks: joining the chunks would copy all bytes.
    while (this.size > 0 && from < chunk.length) {
      const to = Math.min(from + this.needed - this.size, chunk.length);
      this.keep(chunk.subarray(from, to));
      from = to;
      if (this.size === this.needed) this.readAll(this.joined());
    }
    if (from < chunk.length) this.readAll(chunk.subarray(from));
  };

  private keep(part: Buffer): void {
    this.parts.push(part);
    this.size += part.length;
  }

  private joined(): Buffer {
    const bytes = Buffer.concat(this.parts);
    [this.parts, this.size] = [[], 0];
    return bytes;
  }

  private readAll(bytes: Buffer): void {
    const rows: Arrived = { bytes, starts: [], ends: [] };
    const rest = bytes.subarray(this.readMessages(rows));
    if (rest.length > 0) this.keep(rest);
    this.needed = rest.length < MESSAGE_HEADER_BYTES ? MESSAGE_HEADER_BYTES : 1 + rest.readUInt32BE(1);
    this.take(rows);
    if (this.isEnded && this.size > 0) this.toPg(this.joined());
  }

  /** Returns where the last complete message ends. */
  private readMessages({ bytes, starts, ends }: Arrived): number {
    let at = 0;
    while (at + MESSAGE_HEADER_BYTES <= bytes.length) {
      const end = at + 1 + bytes.readUInt32BE(at + 1);
      if (end > bytes.length) break;
      if (bytes[at] !== COPY_DATA) this.toPg(bytes.subarray(at, end));
      else if (end - at > MESSAGE_HEADER_BYTES + TRAILER.length) {
        starts.push(at + MESSAGE_HEADER_BYTES);
        ends.push(end);
      }
      at = end;
    }
    return at;
  }

  private take(rows: Arrived): void {
    if (rows.starts.length === 0) return;
    this.ahead += rows.bytes.length;
    if (this.ahead > READ_AHEAD_BYTES && !this.isEnded) this.stream?.pause();
    if (!this.isHeaderRead) skipHeader(rows);
    this.isHeaderRead = true;
    this.arrived.push(rows);
    this.wake();
  }
}

/** First byte of a message that holds a row, the header or the trailer. */
const COPY_DATA = 'd'.charCodeAt(0);
/** The type byte, and four bytes for the length of the rest including themselves. */
const MESSAGE_HEADER_BYTES = 5;

/** The header precedes the first row, or the trailer of an empty result. */
function skipHeader({ bytes, starts, ends }: Arrived): void {
  const start = (starts[0] ?? 0) + headerLength(bytes.subarray(starts[0]));
  if ((ends[0] ?? 0) - start > TRAILER.length) starts[0] = start;
  else [starts, ends].forEach((places) => void places.shift());
}
