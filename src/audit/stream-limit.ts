import { Problem } from '../problem.js';
import type { SharedPlaces, WorkerGroup } from '../workers/worker-group.js';

/** Limits the open streams of each account on this instance. */
export class StreamLimit {
  private readonly places: SharedPlaces;
  private open = 0;

  constructor(
    private readonly what: string,
    private readonly maxPerAccount: number,
    group: WorkerGroup,
  ) {
    this.places = group.places(what);
  }

  /** Open streams of all accounts in this process. */
  get size(): number {
    return this.open;
  }

  /** Resolves with a function that takes the stream off the count again. Rejects with Problem 429 if the account has too many. */
  async enter(accountId: string): Promise<() => void> {
    if (!(await this.places.take(accountId, this.maxPerAccount))) {
      const message = `The account already has ${this.maxPerAccount} ${this.what} on this instance; close one.`;
      throw new Problem('too_many_requests', message);
    }
    this.open += 1;
    let isOpen = true;
    return () => {
      if (!isOpen) return;
      isOpen = false;
      this.open -= 1;
      this.places.giveBack(accountId);
    };
  }
}
