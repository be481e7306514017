import { setImmediate } from 'node:timers/promises';
import type { Client, Connection } from 'pg';
import { bytesOfHeader, TRAILER } from './copy-binary.js';

/** Rows in COPY's binary format, with whatever lies between them: where each begins and ends. */
export interface CopiedRows {
  readonly bytes: Buffer;
  readonly starts: readonly number[];
  readonly ends: readonly number[];
}

/**
 * The rows of a query in COPY's binary format, in batches as they arrive. PostgreSQL waits for a slow reader. The query
 * may hold no parameters; quote what is put into it. Who stops before the end can do no more with the connection but end it.
 */
export async function* copyOut(client: Client, query: string): AsyncGenerator<CopiedRows> {
  const reading = client.query(new CopyOut(`copy (${query}) to stdout (format binary)`));
  for (let rows = await reading.next(); rows !== undefined; rows = await reading.next()) yield rows;
}

/** So that PostgreSQL goes on while what came is worked on. */
const READ_AHEAD_BYTES = 1 << 20;
/** What is worked on before others have their turn: less than one piece that comes from a socket, at most 64 KiB. */
const TURN_BYTES = 1 << 14;

type Listener = (bytes: Buffer) => void;
type Arrived = { readonly bytes: Buffer; readonly starts: number[]; readonly ends: number[] };

/**
 * A query in the form that pg's client takes. It reads the rows where they arrive, since to make an object of each, as pg
 * does, costs as much as all that is done with it; every other message goes on to pg.
 */
class CopyOut {
  private stream: Connection['stream'] | undefined;
  private toPg: Listener = () => undefined;
  private arrived: CopiedRows[] = [];
  /** The beginning of a message whose end has not come, and how long it must be before more can be told of it. */
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
    // Else a stream that always has more keeps the event loop from all others, writes among them.
    if (this.sinceTurn >= TURN_BYTES) await this.turn();
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
    // Not at once, since to stop and go for every piece costs as much as to read it.
    if (this.ahead <= READ_AHEAD_BYTES / 2) this.stream?.resume();
    return rows;
  }

  private async turn(): Promise<void> {
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
    // The end is when the next query can go.
  }

  handleReadyForQuery(): void {
    if (this.isEnded) return;
    this.stream?.off('data', this.read).on('data', this.toPg).resume();
    this.isEnded = true;
    this.wake();
  }

  /** ReadyForQuery comes after it unless the connection is lost, but is then no longer for this query. */
  handleError(failure: unknown): void {
    this.failure ??= failure;
    this.handleReadyForQuery();
  }

  private readonly read = (chunk: Buffer): void => {
    let from = 0;
    // The message that the last chunk ended in is joined alone: to join the chunks would copy all that comes.
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

  /** Answers where the last whole message ends. */
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

/** The first byte of a message that holds a row, or the header, or the trailer. */
const COPY_DATA = 'd'.charCodeAt(0);
/** What it is, and the length of the rest with these four bytes. */
const MESSAGE_HEADER_BYTES = 5;

/** The header comes before the first row, or before the trailer, which is no row. */
function skipHeader({ bytes, starts, ends }: Arrived): void {
  const start = (starts[0] ?? 0) + bytesOfHeader(bytes.subarray(starts[0]));
  if ((ends[0] ?? 0) - start > TRAILER.length) starts[0] = start;
  else [starts, ends].forEach((places) => void places.shift());
}
