import { Problem } from '../../problem.js';

/** An item to be sent: `keys` that it must not share with another item of its batch, and its size in bytes. */
export interface Batchable {
  readonly keys: readonly string[];
  /** Keys that no earlier item of its batch may have. Items may share them. */
  readonly mustNotFollow: readonly string[];
  readonly sizeBytes: number;
}

export interface Waiting<Item extends Batchable, Result> {
  readonly item: Item;
  resolve(result: Result): void;
  reject(error: unknown): void;
}

type Batch<Item extends Batchable, Result> = readonly Waiting<Item, Result>[];

/** Is told of each batch when it has ended. */
export type BatchListener = (items: number, durationMs: number) => void;

export const DEFAULT_BATCHER_LIMITS = {
  /** Items that may wait over all accounts; one more is refused with 503. */
  queuedItems: 10_000,
  queuedBytes: 128 * 1024 * 1024,
  batchItems: 256,
  batchBytes: 4 * 1024 * 1024,
  /** Batches under way at once. */
  batchesInFlight: 4,
};
export type BatcherLimits = Readonly<typeof DEFAULT_BATCHER_LIMITS>;

/** With 32 writers, two halves under way append 1.3 times as much as one whole. Smaller ones are not worth a commit of their own. */
const MIN_HALF = 16;

/**
 * Batches of one account under way at once. The second one waits in the database for the head of the log: PostgreSQL begins it
 * when the first ends, not when this process has noticed that and sent it.
 */
const MAX_BATCHES_OF_ACCOUNT = 2;

/**
 * Collects the items that arrive while a batch is under way, and sends them as the next batch. It has no timer: an idle
 * service sends at once. `send` settles every item of its batch.
 * Of many items a batch takes half. The database writes one half while the callers of the other half prepare their next
 * items. In one batch, all callers would wait for the database, and then the database for all callers. A second half is sent
 * as soon as it waits. It has no key of the first one, so each key keeps its order.
 */
export class Batcher<Item extends Batchable, Result> {
  onBatch: BatchListener | undefined;
  private readonly queues = new Map<string, Waiting<Item, Result>[]>();
  private readonly underWay = new Map<string, readonly Batch<Item, Result>[]>();
  private batchesUnderWay = 0;
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
      queue.push({ item, resolve: afterNextBatch(resolve), reject: afterNextBatch(reject) });
      this.queuedItems += 1;
      this.queuedBytes += item.sizeBytes;
      this.schedule();
    });
  }

  /** Once per turn of the event loop: requests that arrived together go together. */
  private schedule(): void {
    if (this.scheduled) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      this.sendReady();
    });
  }

  /** `ended`: the account whose batch just ended. Its callers are about to come back with as many items. */
  private sendReady(ended?: { readonly accountId: string; readonly items: number }): void {
    for (const [accountId, queue] of this.queues) {
      if (this.batchesUnderWay >= this.limits.batchesInFlight) return;
      const before = this.underWay.get(accountId) ?? [];
      if (before.length > 0 && !this.isSecondDue(queue, before)) continue;
      const items = queue.length + itemsOf(before) + (ended?.accountId === accountId ? ended.items : 0);
      const half = items < 2 * MIN_HALF ? items : Math.ceil(items / 2);
      const batchItems = Math.min(this.limits.batchItems, half);
      const { batch, rest } = takeBatch(queue, { ...this.limits, batchItems }, before);
      // All of them share keys with those under way.
      if (batch.length === 0) continue;
      this.queues.delete(accountId);
      // Set again after the delete, an account with more to send goes to the end of the line.
      if (rest.length > 0) this.queues.set(accountId, rest);
      this.start(accountId, batch);
    }
  }

  /** A second batch is as large as the first one, and leaves a place to another account. */
  private isSecondDue(queue: Batch<Item, Result>, before: readonly Batch<Item, Result>[]): boolean {
    const hasPlace = this.batchesUnderWay + 1 < this.limits.batchesInFlight;
    return hasPlace && before.length < MAX_BATCHES_OF_ACCOUNT && queue.length >= Math.max(MIN_HALF, itemsOf(before));
  }

  private start(accountId: string, batch: Batch<Item, Result>): void {
    const startedAt = performance.now();
    this.batchesUnderWay += 1;
    this.underWay.set(accountId, [...(this.underWay.get(accountId) ?? []), batch]);
    this.queuedItems -= batch.length;
    for (const { item } of batch) this.queuedBytes -= item.sizeBytes;
    void this.send(accountId, batch)
      // `send` settles every item. If it fails itself, no caller waits for ever.
      .catch((error: unknown) => batch.forEach(({ reject }) => void reject(error)))
      .finally(() => {
        this.finish(accountId, batch);
        this.sendReady({ accountId, items: batch.length });
        this.onBatch?.(batch.length, performance.now() - startedAt);
      });
  }

  private finish(accountId: string, batch: Batch<Item, Result>): void {
    this.batchesUnderWay -= 1;
    const others = (this.underWay.get(accountId) ?? []).filter((other) => other !== batch);
    if (others.length > 0) this.underWay.set(accountId, others);
    else this.underWay.delete(accountId);
  }
}

const itemsOf = (batches: readonly (readonly unknown[])[]): number =>
  batches.reduce((sum, { length }) => sum + length, 0);

/** First the next batch is sent: the callers of the last one keep the process busy for milliseconds. */
const afterNextBatch =
  <Answer>(settle: (answer: Answer) => void) =>
  (answer: Answer): void =>
    void setImmediate(settle, answer);

/**
 * The next batch in queue order. An item that must not go with an earlier one, or with one under way, waits, and so do those
 * that must not go with it.
 */
function takeBatch<Item extends Batchable, Result>(
  queue: Batch<Item, Result>,
  limits: BatcherLimits,
  underWay: readonly Batch<Item, Result>[],
) {
  const seen = new Set(underWay.flatMap((batch) => batch.flatMap(({ item }) => item.keys)));
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
