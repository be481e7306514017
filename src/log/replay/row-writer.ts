import type { Client } from 'pg';
import { RowBytes } from '../../database/copy-binary.js';
import { CopyIn } from '../../database/copy-in.js';
import type { EntityRow } from '../read-model.js';
import type { RowEncoder } from './row-encoder.js';

/** Bytes that are sent at once: enough that other tables' COPYs seldom come between, little to hold. */
const CHUNK_BYTES = 1 << 20;

/** Rows on their way into one table. */
class Target {
  readonly rows = new RowBytes(CHUNK_BYTES + CHUNK_BYTES / 8);

  constructor(readonly encoder: RowEncoder) {}
}

/** Writes the rows of entities into the tables of a read model by COPY, all on one connection. */
export class RowWriter {
  private readonly targets: readonly Target[];
  /** What was sent last. The next rows are folded and encoded meanwhile. */
  private sending: Promise<void> = Promise.resolve();
  /** A connection has one COPY at a time: that of the table that was written last. */
  private open: { readonly target: Target; readonly copy: CopyIn } | undefined;

  /** `encoders`: one for each table of the read model; `schema`: where the tables are that are written. */
  constructor(
    private readonly client: Client,
    encoders: readonly RowEncoder[],
    private readonly schema: string,
  ) {
    this.targets = encoders.map((encoder) => new Target(encoder));
  }

  /** A promise only where the caller must wait before it writes more: a promise for every row would cost as much as the row. */
  write(entity: EntityRow): Promise<void> | undefined {
    let isFull = false;
    for (const { encoder, rows } of this.targets) {
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

  /** What has come to so many bytes. */
  private async send(least: number): Promise<void> {
    for (const target of this.targets) if (target.rows.size >= least) await this.sendOne(target);
  }

  private async sendOne(target: Target): Promise<void> {
    const bytes = target.rows.take();
    await this.sending;
    const copy = await this.copyInto(target);
    this.sending = copy.write(bytes);
    // Its failure is thrown where it is awaited next.
    this.sending.catch(() => undefined);
  }

  private async copyInto(target: Target): Promise<CopyIn> {
    if (this.open?.target === target) return this.open.copy;
    await this.open?.copy.end();
    const { name, columns } = target.encoder.table;
    this.open = { target, copy: new CopyIn(this.client, `"${this.schema}".${name}`, columns) };
    return this.open.copy;
  }
}
