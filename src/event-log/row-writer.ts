import type { Client } from 'pg';
import { copyIn } from '../database/copy.js';
import type { Entity } from './read-model.js';
import type { RowPrinter } from './row-printer.js';

/** Characters that go to a table in one COPY: enough that its round trip does not count, little to hold. */
const CHUNK_CHARACTERS = 1 << 20;

interface Target {
  readonly printer: RowPrinter;
  lines: string[];
  characters: number;
}

/** Writes the rows of entities into the tables of a read model by COPY, all on one connection. */
export class RowWriter {
  /** What was sent last. The next rows are folded and printed meanwhile. */
  private sending: Promise<void> = Promise.resolve();

  private readonly targets: readonly Target[];

  /** `printers`: one for each table of the read model; `schema`: where the tables are that are written. */
  constructor(
    private readonly client: Client,
    printers: readonly RowPrinter[],
    private readonly schema: string,
  ) {
    this.targets = printers.map((printer) => ({ printer, lines: [], characters: 0 }));
  }

  /** A promise only where the caller must wait before it writes more: a promise for every row would cost as much as the row. */
  write(entity: Entity<unknown>): Promise<void> | undefined {
    let full: Promise<void> | undefined;
    for (const target of this.targets) {
      for (const row of target.printer.table.rowsOf(entity)) {
        const line = target.printer.print(row);
        target.lines.push(line);
        target.characters += line.length;
      }
      if (target.characters > CHUNK_CHARACTERS) full = this.sendAll();
    }
    return full;
  }

  /** Resolves when everything is in the tables. */
  async finish(): Promise<void> {
    await this.sendAll();
    await this.sending;
  }

  private async sendAll(): Promise<void> {
    for (const target of this.targets) if (target.lines.length > 0) await this.send(target);
  }

  private async send(target: Target): Promise<void> {
    const { lines } = target;
    const { table } = target.printer;
    target.lines = [];
    target.characters = 0;
    await this.sending;
    this.sending = copyIn(this.client, `"${this.schema}".${table.name}`, table.columns, `${lines.join('\n')}\n`);
    // Its failure is thrown where it is awaited next.
    this.sending.catch(() => undefined);
  }
}
