import type { Table } from '../read-model.js';
import type { ReplayedStream } from './replay.js';

/** Receives the rows that replayed streams make in one table. */
export interface RowTarget {
  readonly table: Table<unknown>;
  encode(rows: readonly object[]): string;
  /** Takes encoded rows. `last`: the stream that they end with; undefined if no stream is left. */
  send(texts: readonly string[], last: ReplayedStream | undefined): Promise<void>;
}

/** Rows sent at once: enough that the start of a COPY is negligible, and few enough to hold in memory twice. */
const CHARACTERS_PER_SEND = 1 << 20;

/** Sends the rows of all streams, one statement at a time, and folds the next streams meanwhile. */
export async function sendRows(
  replayed: AsyncGenerator<readonly ReplayedStream[]>,
  targets: readonly RowTarget[],
): Promise<void> {
  const collected = targets.map((target) => new CollectedRows(target));
  let sending: Promise<void> = Promise.resolve();
  const send = async (rows: CollectedRows, last: ReplayedStream | undefined): Promise<void> => {
    await sending;
    sending = rows.send(last);
    // The next await of `sending` throws its failure.
    sending.catch(() => undefined);
  };
  for await (const streams of replayed) {
    for (const rows of collected) {
      rows.add(streams);
      if (rows.isFull) await send(rows, streams.at(-1));
    }
  }
  for (const rows of collected) await send(rows, undefined);
  await sending;
}

class CollectedRows {
  private texts: string[] = [];
  private characters = 0;

  constructor(private readonly target: RowTarget) {}

  /** A stream whose entity is deleted has no rows. */
  add(streams: readonly ReplayedStream[]): void {
    const { table } = this.target;
    const rows = streams.flatMap(({ entity }) => (entity === undefined ? [] : table.rowsOf(entity)));
    if (rows.length === 0) return;
    const text = this.target.encode(rows);
    this.texts.push(text);
    this.characters += text.length;
  }

  get isFull(): boolean {
    return this.characters >= CHARACTERS_PER_SEND;
  }

  send(last: ReplayedStream | undefined): Promise<void> {
    const { texts } = this;
    this.texts = [];
    this.characters = 0;
    return this.target.send(texts, last);
  }
}
