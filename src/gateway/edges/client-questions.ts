import { Queue, Rotation } from './rotation.js';

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
  /** Whether each client that waits for the answer is still there. */
  readonly wishes: (() => boolean)[];
  readonly begin: () => Promise<void>;
  readonly drop: () => void;
}

/** Questions about single clients of edges: a few at once. The accounts take turns, and the sources within an account. */
export class ClientQuestions {
  private readonly waiting = new Map<string, Waiting>();
  private readonly rotation = new Rotation<Waiting, Rotation<Waiting, Queue<Waiting>>>(
    () => new Rotation<Waiting, Queue<Waiting>>(() => new Queue()),
  );
  private running = 0;

  /** One that waits already is asked once, and none whose clients are gone: false. Rejects as the question does. */
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
    this.rotation.line(accountId).line(source).add(waiting);
    this.beginNext();
    return promise;
  }

  private beginNext(): void {
    while (this.running < MAX_AT_ONCE) {
      const next = this.rotation.next();
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
