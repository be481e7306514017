import { Counts } from './counts.js';

/** Questions at once, and those of one account: the service may need long to read the traffic policies of some. */
const MAX_QUESTIONS = 16;
const MAX_QUESTIONS_OF_ACCOUNT = 4;
/** Keys in one question. The limit lets the questions of other accounts come in between. */
const MAX_KEYS = 200;

/** Keys of an unknown account that an answer left out. They take turns with those that were not asked yet. */
const LEFT_OUT = 'left out';

/** The account in whose turn a key is asked, and whether the key comes before the account's other keys. */
interface Turn {
  readonly account: string;
  readonly isUrgent: boolean;
}

interface Waiting {
  readonly account: string;
  readonly promise: Promise<void>;
  readonly settle: (done: Promise<void>) => void;
}

/** The keys of an account that wait. */
interface AccountQueue {
  readonly urgent: Set<string>;
  readonly others: Set<string>;
}

/**
 * Asks about many keys, several in one question, and applies the answers. The accounts take turns, so that an account
 * with many keys does not delay the others. If a key is wanted while its answer is under way, it is asked once more
 * afterwards.
 */
export class Refresher<Answer> {
  private readonly waiting = new Map<string, Waiting>();
  /** The account with the next turn is the first. */
  private readonly queues = new Map<string, AccountQueue>();
  private readonly underWay = new Map<string, Promise<unknown>>();
  private readonly questions = new Counts();
  private isScheduled = false;

  constructor(
    /** A key without an answer is asked about again. */
    private readonly ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, Answer>>,
    private readonly apply: (key: string, answer: Answer) => Promise<void>,
    private readonly turnOf: (key: string) => Turn,
  ) {}

  /**
   * Resolves once each key has an answer that was asked for after this call, and that is applied. Rejects if one
   * fails. `account`: the account of keys that are not urgent.
   */
  async refresh(keys: Iterable<string>, account = ''): Promise<void> {
    const wanted = [...keys].map((key) => this.want(key, account));
    this.schedule();
    await Promise.all(wanted);
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.underWay.size + this.waiting.size > 0) {
      const waiting = [...this.waiting.values()].map(({ promise }) => promise);
      await Promise.allSettled([...this.underWay.values(), ...waiting]);
    }
  }

  private want(key: string, account: string): Promise<void> {
    const same = this.waiting.get(key);
    if (same !== undefined) return same.promise;
    const turn = this.turnOf(key);
    // The account of a served port is known. Any other port may have belonged to another account before.
    const name = turn.isUrgent ? turn.account : account || turn.account;
    const queue = this.queues.get(name) ?? { urgent: new Set(), others: new Set() };
    this.queues.set(name, queue);
    (turn.isUrgent ? queue.urgent : queue.others).add(key);
    let settle: Waiting['settle'] = () => undefined;
    const promise = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.waiting.set(key, { account: name, promise, settle });
    return promise;
  }

  /** Starts once per turn of the event loop, so that keys which are wanted together go into one question. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.startNext();
    });
  }

  private startNext(): void {
    for (const [account, queue] of this.queues) {
      if (this.questions.total >= MAX_QUESTIONS) return;
      if (this.questions.of(account) >= MAX_QUESTIONS_OF_ACCOUNT) continue;
      const keys = this.take(queue);
      if (keys.length === 0) continue;
      this.queues.delete(account);
      // It goes to the end, where this loop meets it again.
      if (queue.urgent.size + queue.others.size > 0) this.queues.set(account, queue);
      this.start(keys, account);
    }
  }

  private take({ urgent, others }: AccountQueue): string[] {
    const keys: string[] = [];
    for (const part of [urgent, others]) {
      for (const key of part) {
        if (keys.length === MAX_KEYS) return keys;
        if (this.underWay.has(key)) continue;
        part.delete(key);
        keys.push(key);
      }
    }
    return keys;
  }

  private start(keys: readonly string[], account: string): void {
    this.questions.add(account, 1);
    const asked = this.ask(keys);
    for (const key of keys) this.finish(key, asked);
    // The next question does not wait until the answers are applied.
    const ended = (): void => {
      this.questions.add(account, -1);
      this.schedule();
    };
    asked.then(ended, ended);
  }

  private finish(key: string, asked: Promise<ReadonlyMap<string, Answer>>): void {
    const { account = '', settle } = this.waiting.get(key) ?? {};
    this.waiting.delete(key);
    const act = async (): Promise<boolean> => {
      const answer = (await asked).get(key);
      if (answer !== undefined) await this.apply(key, answer);
      return answer !== undefined;
    };
    const acted = act().finally(() => {
      this.underWay.delete(key);
      if (this.waiting.has(key)) this.schedule();
    });
    this.underWay.set(
      key,
      acted.catch(() => undefined),
    );
    settle?.(acted.then((isDone) => (isDone ? undefined : this.refresh([key], account || LEFT_OUT))));
  }
}
