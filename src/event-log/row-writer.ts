import type { Client } from 'pg';
import { copyIn } from '../database/copy.js';
import type { Entity } from './read-model.js';
import type { RowPrinter } from './row-printer.js';

/** Bytes that go to a table in one COPY: enough that its round trip does not count, little to hold. */
const CHUNK_BYTES = 1 << 20;
const MOST_BYTES_OF_A_CHARACTER = 3;

/** Writes the rows of entities into the tables of a read model by COPY, all on one connection. */
export class RowWriter {
  private readonly targets: readonly Chunk[];
  /** What was sent last. The next rows are folded and printed meanwhile. */
  private sending: Promise<void> = Promise.resolve();

  /** `printers`: one for each table of the read model; `schema`: where the tables are that are written. */
  constructor(
    private readonly client: Client,
    printers: readonly RowPrinter[],
    private readonly schema: string,
  ) {
    this.targets = printers.map((printer) => new Chunk(printer));
  }

  /** A promise only where the caller must wait before it writes more: a promise for every row would cost as much as the row. */
  write(entity: Entity<unknown>): Promise<void> | undefined {
    let isFull = false;
    for (const target of this.targets) {
      for (const row of target.printer.table.rowsOf(entity)) target.add(target.printer.print(row));
      isFull ||= target.isFull;
    }
    return isFull ? this.sendAll() : undefined;
  }

  /** Resolves when everything is in the tables. */
  async finish(): Promise<void> {
    await this.sendAll();
    await this.sending;
  }

  private async sendAll(): Promise<void> {
    for (const target of this.targets) if (!target.isEmpty) await this.send(target);
  }

  private async send(target: Chunk): Promise<void> {
    const lines = target.take();
    const { name, columns } = target.printer.table;
    await this.sending;
    this.sending = copyIn(this.client, `"${this.schema}".${name}`, columns, lines);
    // Its failure is thrown where it is awaited next.
    this.sending.catch(() => undefined);
  }
}

/** Lines on their way into one table. As bytes at once: as strings they would live long enough to burden the collector. */
class Chunk {
  private bytes = Buffer.allocUnsafe(0);
  private used = 0;

  constructor(readonly printer: RowPrinter) {}

  get isEmpty(): boolean {
    return this.used === 0;
  }

  get isFull(): boolean {
    return this.used >= CHUNK_BYTES;
  }

  add(line: string): void {
    const most = line.length * MOST_BYTES_OF_A_CHARACTER + 1;
    if (this.bytes.length - this.used < most) this.grow(most);
    this.used += this.bytes.write(line, this.used);
    this.bytes[this.used] = LINE_END;
    this.used += 1;
  }

  take(): Buffer {
    const lines = this.bytes.subarray(0, this.used);
    this.bytes = Buffer.allocUnsafe(0);
    this.used = 0;
    return lines;
  }

  private grow(most: number): void {
    const larger = Buffer.allocUnsafe(Math.max(CHUNK_BYTES + CHUNK_BYTES / 8, 2 * this.bytes.length, this.used + most));
    this.bytes.copy(larger, 0, 0, this.used);
    this.bytes = larger;
  }
}

const LINE_END = 0x0a;
