interface Line {
  running: number;
  /** The functions that begin waiting work, in the order of arrival. */
  readonly waiting: Set<() => void>;
}

/** Runs at most `atOnce` pieces of work of each key at a time, in the order in which they arrived. */
export class KeyedQueue {
  private readonly lines = new Map<string, Line>();

  constructor(private readonly atOnce = 1) {}

  /** The number of pieces of work that have not begun. */
  get waiting(): number {
    return [...this.lines.values()].reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  /** The same for one key. */
  waitingOf(key: string): number {
    return this.lines.get(key)?.waiting.size ?? 0;
  }

  /** Rejects with the signal's reason if the signal aborts before the work begins. */
  async run<T>(key: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    const line = this.lines.get(key) ?? { running: 0, waiting: new Set() };
    this.lines.set(key, line);
    if (line.running === this.atOnce) await placeIn(line, signal);
    else line.running += 1;
    try {
      return await work();
    } finally {
      this.leave(key, line);
    }
  }

  /** Gives the place to the next piece of work. */
  private leave(key: string, line: Line): void {
    const [begin] = line.waiting;
    if (begin === undefined) line.running -= 1;
    else begin();
    if (line.running === 0) this.lines.delete(key);
  }
}

const placeIn = ({ waiting }: Line, signal?: AbortSignal): Promise<void> =>
  new Promise((resolve, reject) => {
    const begin = (): void => {
      waiting.delete(begin);
      signal?.removeEventListener('abort', giveUp);
      resolve();
    };
    const giveUp = (): void => {
      waiting.delete(begin);
      reject(signal?.reason);
    };
    waiting.add(begin);
    signal?.addEventListener('abort', giveUp, { once: true });
  });
