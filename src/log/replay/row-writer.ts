import type { Client } from 'pg';
import { RowBytes } from '../../database/copy-binary.js';
import { CopyIn } from '../../database/copy-in.js';
import type { EntityRow } from '../read-model.js';
import type { RowEncoder } from './row-encoder.js';

/** Bytes sent at once: large enough that a COPY seldom switches tables, small enough to hold in memory. */
const CHUNK_BYTES = 1 << 20;

/** Encoded rows that wait to be sent to one table. */
class TableBuffer {
  readonly rows = new RowBytes(CHUNK_BYTES + CHUNK_BYTES / 8);

  constructor(readonly encoder: RowEncoder) {}
}

/** Writes the rows of entities into the tables of a read model by COPY, all on one connection. */
export class RowWriter {
  private readonly buffers: readonly TableBuffer[];
  /** The last send. The caller folds and encodes the next rows meanwhile. */
  private sending: Promise<void> = Promise.resolve();
  /** The COPY of the table that was written last; a connection can have only one. */
  private open: { readonly buffer: TableBuffer; readonly copy: CopyIn } | undefined;

  /** `encoders`: one for each table of the read model; `schema`: the schema of the tables to write. */
  constructor(
    private readonly client: Client,
    encoders: readonly RowEncoder[],
    private readonly schema: string,
  ) {
    this.buffers = encoders.map((encoder) => new TableBuffer(encoder));
  }

  /** Returns a promise only if the caller must wait: a promise for every row would cost as much as the row. */
  write(entity: EntityRow): Promise<void> | undefined {
    let isFull = false;
    for (const { encoder, rows } of this.buffers) {
      for (const row of encoder.table.rowsOf(entity)) encoder.encode(row, rows);
      isFull ||= rows.size >= CHUNK_BYTES;
    }
    return isFull ? this.send(CHUNK_BYTES) : undefined;
  }

  /** Resolves when everything is in the tables. */
  async finish(): Promise<void> {
    await this.send(1);
    await this.sending;
    await this.open?.copy.end();
    this.open = undefined;
  }

  /** Sends the buffers that hold at least `minBytes`. */
  private async send(minBytes: number): Promise<void> {
    for (const buffer of this.buffers) if (buffer.rows.size >= minBytes) await this.sendOne(buffer);
  }

  private async sendOne(buffer: TableBuffer): Promise<void> {
    const bytes = buffer.rows.take();
    await this.sending;
    const copy = await this.copyInto(buffer);
    this.sending = copy.write(bytes);
    // The next await of `sending` throws its failure.
    this.sending.catch(() => undefined);
  }

  private async copyInto(buffer: TableBuffer): Promise<CopyIn> {
    if (this.open?.buffer === buffer) return this.open.copy;
    await this.open?.copy.end();
    const { name, columns } = buffer.encoder.table;
    this.open = { buffer, copy: new CopyIn(this.client, `"${this.schema}".${name}`, columns) };
    return this.open.copy;
  }
}
