import { Problem } from '../problem.js';

/** Counts the open streams of each account on this instance. */
export class StreamLimit {
  private readonly open = new Map<string, number>();

  constructor(
    private readonly what: string,
    private readonly maxPerAccount: number,
  ) {}

  /** Open streams of all accounts. */
  get size(): number {
    return [...this.open.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Returns a function that takes the stream off the count again. Throws Problem 429 if the account has too many. */
  enter(accountId: string): () => void {
    const count = this.open.get(accountId) ?? 0;
    if (count >= this.maxPerAccount) {
      const message = `The account already has ${count} ${this.what} on this instance; close one.`;
      throw new Problem('too_many_requests', message);
    }
    this.open.set(accountId, count + 1);
    let isOpen = true;
    return () => {
      if (isOpen) this.leave(accountId);
      isOpen = false;
    };
  }

  private leave(accountId: string): void {
    const left = (this.open.get(accountId) ?? 1) - 1;
    if (left > 0) this.open.set(accountId, left);
    else this.open.delete(accountId);
  }
}
