import { FifoQueue, RoundRobin } from './round-robin.js';

const MAX_AT_ONCE = 16;

interface Asked {
  readonly accountId: string;
  readonly source: string;
  /** Two questions with the same text have the same answer. */
  readonly text: string;
}

interface Waiting {
  readonly text: string;
  readonly promise: Promise<boolean>;
  /** One function for each client that waits for the answer: whether it is still connected. */
  readonly wishes: (() => boolean)[];
  readonly begin: () => Promise<void>;
  readonly drop: () => void;
}

/**
 * Asks the service about single clients of edges, a few questions at once. The accounts take turns, and so do the
 * sources within an account.
 */
export class ClientQuestions {
  private readonly waiting = new Map<string, Waiting>();
  private readonly queue = new RoundRobin<Waiting, RoundRobin<Waiting, FifoQueue<Waiting>>>(
    () => new RoundRobin<Waiting, FifoQueue<Waiting>>(() => new FifoQueue()),
  );
  private running = 0;

  /**
   * Equal questions that wait are asked once. Resolves with false if all its clients are gone before it is asked.
   * Rejects if the question does.
   */
  ask({ accountId, source, text }: Asked, isWanted: () => boolean, question: () => Promise<boolean>): Promise<boolean> {
    const same = this.waiting.get(text);
    same?.wishes.push(isWanted);
    if (same !== undefined) return same.promise;
    let [begin, drop]: [Waiting['begin'], Waiting['drop']] = [() => Promise.resolve(), () => undefined];
    const promise = new Promise<boolean>((resolve, reject) => {
      begin = () => question().then(resolve, reject);
      drop = () => resolve(false);
    });
    const waiting: Waiting = { text, promise, wishes: [isWanted], begin, drop };
    this.waiting.set(text, waiting);
    this.queue.queueOf(accountId).queueOf(source).add(waiting);
    this.beginNext();
    return promise;
  }

  private beginNext(): void {
    while (this.running < MAX_AT_ONCE) {
      const next = this.queue.next();
      if (next === undefined) return;
      this.waiting.delete(next.text);
      if (!next.wishes.some((isWanted) => isWanted())) {
        next.drop();
        continue;
      }
      this.running += 1;
      void next.begin().finally(() => {
        this.running -= 1;
        this.beginNext();
      });
    }
  }
}
