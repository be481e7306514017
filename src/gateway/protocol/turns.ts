/** Work that waits for its turn. */
export interface Worker {
  /** Workers with the same name share their turns. */
  readonly share: string;
  /** Does a small part of the work, and enters the queue again if more is left. Never throws. */
  work(): void;
}

interface Share {
  /**
   * CPU time of its workers in milliseconds. A new share begins with at least the time of the share that was served
   * last, so it gets no credit for its absence.
   */
  spent: number;
  readonly waiting: Worker[];
}

/** After this time everything else of the process has its turn: timers, answers of the service, bytes of visitors. */
const TURN_MS = 1;

/** When so many shares are remembered, those are forgotten that would begin with `least` anyway. */
const MAX_RESTED = 1_000;

/** Takes the share that has spent the least CPU time, and in it the worker that has waited longest. */
class FairQueue {
  private readonly shares = new Map<string, Share>();
  /** The time that shares without work have spent, so that they do not come back with less. */
  private readonly rested = new Map<string, number>();
  /** The time with which a new share begins at least. */
  private least = 0;

  get isEmpty(): boolean {
    return this.shares.size === 0;
  }

  enter(worker: Worker): void {
    const { share: name } = worker;
    const share = this.shares.get(name) ?? { spent: Math.max(this.least, this.rested.get(name) ?? 0), waiting: [] };
    this.rested.delete(name);
    this.shares.set(name, share);
    share.waiting.push(worker);
  }

  work(): void {
    const [name, share] = this.next() ?? [];
    if (name === undefined || share === undefined) return;
    this.least = Math.max(this.least, share.spent);
    const begin = performance.now();
    share.waiting.shift()?.work();
    share.spent += performance.now() - begin;
    if (share.waiting.length === 0) this.rest(name, share);
  }

  private rest(name: string, { spent }: Share): void {
    this.shares.delete(name);
    this.rested.set(name, spent);
    if (this.rested.size < MAX_RESTED) return;
    for (const [other, before] of this.rested) if (before <= this.least) this.rested.delete(other);
  }

  private next(): [string, Share] | undefined {
    let found: [string, Share] | undefined;
    for (const entry of this.shares) if (found === undefined || entry[1].spent < found[1].spent) found = entry;
    return found;
  }
}

/**
 * Shares the CPU time fairly between connections. A client that floods waits for others, and others wait for one part
 * of its work at most. All strangers together have one share, which is divided between their sources.
 */
export class Turns {
  private readonly all = new FairQueue();
  private readonly strangers = new FairQueue();
  private isScheduled = false;
  private readonly run = (): void => this.takeTurn();

  enter(worker: Worker): void {
    this.all.enter(worker);
    this.schedule();
  }

  enterStranger(worker: Worker): void {
    if (this.strangers.isEmpty) this.all.enter(this.strangersTurn);
    this.strangers.enter(worker);
    this.schedule();
  }

  private readonly strangersTurn: Worker = {
    share: 'strangers',
    work: () => {
      this.strangers.work();
      if (!this.strangers.isEmpty) this.all.enter(this.strangersTurn);
    },
  };

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(this.run);
  }

  private takeTurn(): void {
    const end = performance.now() + TURN_MS;
    do this.all.work();
    while (!this.all.isEmpty && performance.now() < end);
    this.isScheduled = false;
    if (!this.all.isEmpty) this.schedule();
  }
}
