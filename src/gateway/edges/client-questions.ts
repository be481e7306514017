import { FifoQueue, RoundRobin } from './round-robin.js';

const MAX_AT_ONCE = 16;

interface Asked {
  readonly accountId: string;
  readonly source: string;
  /** It is about an open connection. */
  readonly isReview: boolean;
  /** Two questions with the same text have the same answer. */
  readonly text: string;
}

interface Waiting<Answer> {
  readonly text: string;
  readonly promise: Promise<Answer | undefined>;
  /** One function for each client that waits for the answer: whether it is still connected. */
  readonly wishes: (() => boolean)[];
  readonly begin: () => Promise<void>;
  readonly drop: () => void;
}

type OfKind<Answer> = RoundRobin<Waiting<Answer>, FifoQueue<Waiting<Answer>>>;
type OfAccount<Answer> = RoundRobin<Waiting<Answer>, OfKind<Answer>>;

/**
 * Asks the service about single clients of edges, a few questions at once. The accounts take turns; so do new clients
 * and reviews of open connections within an account, and the sources of each.
 */
export class ClientQuestions<Answer> {
  private readonly waiting = new Map<string, Waiting<Answer>>();
  private readonly queue = new RoundRobin<Waiting<Answer>, OfAccount<Answer>>(
    () =>
      new RoundRobin<Waiting<Answer>, OfKind<Answer>>(
        () => new RoundRobin<Waiting<Answer>, FifoQueue<Waiting<Answer>>>(() => new FifoQueue()),
      ),
  );
  private running = 0;

  /**
   * Equal questions that wait are asked once. Resolves with undefined if all its clients are gone before it is
   * asked. Rejects if the question does.
   */
  ask(
    { accountId, source, isReview, text: asked }: Asked,
    isWanted: () => boolean,
    question: () => Promise<Answer>,
  ): Promise<Answer | undefined> {
    const kind = isReview ? 'reviews' : 'clients';
    // A new client that shared the question of a review would wait among the reviews.
    const text = `${kind} ${asked}`;
    const same = this.waiting.get(text);
    same?.wishes.push(isWanted);
    if (same !== undefined) return same.promise;
    let [begin, drop]: [Waiting<Answer>['begin'], Waiting<Answer>['drop']] = [() => Promise.resolve(), () => undefined];
    const promise = new Promise<Answer | undefined>((resolve, reject) => {
      begin = () => question().then(resolve, reject);
      drop = () => resolve(undefined);
    });
    const waiting: Waiting<Answer> = { text, promise, wishes: [isWanted], begin, drop };
    this.waiting.set(text, waiting);
    this.queue.queueOf(accountId).queueOf(kind).queueOf(source).add(waiting);
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
