import { Problem } from '../../kernel/problem.js';
import { Places } from '../instance/places.js';

/** Limits the open streams of each account on this instance. */
export class StreamLimit {
  private readonly places = new Places();
  private open = 0;

  constructor(
    private readonly what: string,
    private readonly maxPerAccount: number,
  ) {}

  /** Open streams of all accounts in this process. */
  get size(): number {
    return this.open;
  }

  /** Returns a function that takes the stream off the count. Throws Problem 429 if the account has too many. */
  enter(accountId: string): () => void {
    if (!this.places.take(accountId, this.maxPerAccount)) {
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
