import { Problem } from '../../kernel/problem.js';

/** An item to be sent. No two items of a batch may share one of their `keys`. */
export interface Batchable {
  readonly keys: readonly string[];
  /** Keys that no earlier item of the batch may have in its `keys`. */
  readonly mustNotFollow: readonly string[];
  readonly sizeBytes: number;
}

export interface Waiting<Item extends Batchable, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

type Batch<Item extends Batchable, Result> = readonly Waiting<Item, Result>[];

/** Gets each batch when it has ended. */
export type BatchListener = (items: number, durationMs: number) => void;

/** How much may wait, how much a batch may hold, and how many batches may run at once. */
export const DEFAULT_BATCHER_LIMITS = {
  /** Items that may wait, over all accounts. A further item is refused with 503. */
  queuedItems: 10_000,
  queuedBytes: 128 * 1024 * 1024,
  batchItems: 256,
  batchBytes: 4 * 1024 * 1024,
  /** Batches that may run at once. */
  batchesInFlight: 4,
};
/**
 * From this many waiting items on, an account has two batches under way, each with half of them. So one is made while
 * PostgreSQL runs the other. Their statements lock the head one after another.
 */
const MIN_HALVED = 16;

export type BatcherLimits = Readonly<typeof DEFAULT_BATCHER_LIMITS>;

/**
 * Collects the items of an account that arrive while its batch runs, and sends them as its next batch, but for what has
 * a key of that batch. If no batch runs, it sends at once. `send` must resolve or reject every item of its batch.
 */
export class Batcher<Item extends Batchable, Result> {
  onBatch: BatchListener | undefined;
  private readonly queues = new Map<string, Waiting<Item, Result>[]>();
  private readonly underWay = new Set<{ readonly accountId: string; readonly batch: Batch<Item, Result> }>();
  private queuedItems = 0;
  private queuedBytes = 0;
  private scheduled = false;

  constructor(
    private readonly send: (accountId: string, batch: Batch<Item, Result>) => Promise<void>,
    private readonly limits: BatcherLimits = DEFAULT_BATCHER_LIMITS,
  ) {}

  get queued(): number {
    return this.queuedItems;
  }

  get isFull(): boolean {
    return this.queuedItems >= this.limits.queuedItems || this.queuedBytes > this.limits.queuedBytes;
  }

  /** Rejects with Problem `overloaded` when the queue is full. */
  push(accountId: string, item: Item): Promise<Result> {
    if (this.isFull) {
      const message = 'Too many changes are waiting to be written. Try again shortly.';
      return Promise.reject(new Problem('overloaded', message));
    }
    return new Promise<Result>((resolve, reject) => {
      const queue = this.queues.get(accountId) ?? [];
      this.queues.set(accountId, queue);
      queue.push({ item, resolve, reject });
      this.queuedItems += 1;
      this.queuedBytes += item.sizeBytes;
      this.schedule();
    });
  }

  /** Sends once in each turn of the event loop, so that requests that arrive together are sent together. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.sendReady();
    });
  }

  private sendReady(): void {
    for (const [accountId, queue] of this.queues) {
      if (this.underWay.size >= this.limits.batchesInFlight) return;
      const running = [...this.underWay].filter((one) => one.accountId === accountId);
      const isLong = queue.length >= MIN_HALVED;
      if (running.length >= (isLong ? 2 : 1)) continue;
      const batchItems = isLong
        ? Math.min(Math.ceil(queue.length / 2), this.limits.batchItems)
        : this.limits.batchItems;
      const earlier = running.flatMap(({ batch }) => batch);
      const { batch, rest } = takeBatch(queue, { ...this.limits, batchItems }, earlier);
      if (batch.length === 0) continue;
      this.queues.delete(accountId);
      // An account with more to send goes to the end of the queue.
      if (rest.length > 0) this.queues.set(accountId, rest);
      this.start(accountId, batch);
    }
  }

  private start(accountId: string, batch: Batch<Item, Result>): void {
    const startedAt = performance.now();
    const running = { accountId, batch };
    this.underWay.add(running);
    this.queuedItems -= batch.length;
    for (const { item } of batch) this.queuedBytes -= item.sizeBytes;
    void this.send(accountId, batch)
      // If `send` itself fails, no caller may wait for ever.
      .catch((error: unknown) => batch.forEach(({ reject }) => void reject(error)))
      .finally(() => {
        this.underWay.delete(running);
        this.sendReady();
        this.onBatch?.(batch.length, performance.now() - startedAt);
      });
  }
}

/**
 * Takes the next batch, in the order of the queue. An item stays in the queue if an earlier item has one of its `keys`
 * or `mustNotFollow` as a key, even if that earlier item stays too. The items of batches that run are earlier ones.
 */
function takeBatch<Item extends Batchable, Result>(
  queue: Batch<Item, Result>,
  limits: BatcherLimits,
  earlier: Batch<Item, Result>,
) {
  const seen = new Set(earlier.flatMap(({ item }) => item.keys));
  const isSeen = (key: string): boolean => seen.has(key);
  const [batch, rest]: [Waiting<Item, Result>[], Waiting<Item, Result>[]] = [[], []];
  let bytes = 0;
  for (const waiting of queue) {
    const { keys, mustNotFollow, sizeBytes } = waiting.item;
    const isFull = batch.length >= limits.batchItems || (batch.length > 0 && bytes + sizeBytes > limits.batchBytes);
    const mustWait = isFull || keys.some(isSeen) || mustNotFollow.some(isSeen);
    (mustWait ? rest : batch).push(waiting);
    if (!mustWait) bytes += sizeBytes;
    for (const key of keys) seen.add(key);
  }
  return { batch, rest };
}
