import { FairQueue, type Taken } from '../../kernel/fair-queue.js';
import { Places } from '../../kernel/places.js';

/** Questions at once, and those of one account: the service may need long to read the traffic policies of some. */
const MAX_QUESTIONS = 16;
const MAX_QUESTIONS_OF_ACCOUNT = 4;
/** Keys in one question. The limit lets the questions of other accounts come in between. */
const MAX_KEYS = 200;

/** The account of keys without one that an answer left out, so that they do not delay those that were not asked yet. */
const LEFT_OUT = 'left out';

/** The account that a key counts for, and whether the key comes before the account's other keys. */
interface Claim {
  readonly account: string;
  readonly isUrgent: boolean;
}

interface Waiting extends Claim {
  readonly promise: Promise<void>;
  readonly settle: (done: Promise<void>) => void;
}

/**
 * Asks about many keys, several in one question, and applies the answers. An account with many keys does not delay the
 * others. If a key is wanted while its answer is under way, it is asked once more afterwards.
 */
export class Refresher<Answer> {
  private readonly waiting = new Map<string, Waiting>();
  /** The keys that wait and are not under way. */
  private readonly queue = new FairQueue<string>();
  private readonly underWay = new Map<string, Promise<unknown>>();
  private readonly questions = new Places([MAX_QUESTIONS, MAX_QUESTIONS_OF_ACCOUNT]);
  private isScheduled = false;

  constructor(
    /** A key without an answer is asked about again. */
    private readonly ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, Answer>>,
    private readonly apply: (key: string, answer: Answer) => Promise<void>,
    private readonly claimOf: (key: string) => Claim,
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
    const claim = this.claimOf(key);
    // The account of a served port is known. Any other port may have belonged to another account before.
    const own = { ...claim, account: claim.isUrgent ? claim.account : account || claim.account };
    let settle: Waiting['settle'] = () => undefined;
    const promise = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.waiting.set(key, { ...own, promise, settle });
    if (!this.underWay.has(key)) this.enter(key, own);
    return promise;
  }

  private enter(key: string, { account, isUrgent }: Claim): void {
    this.queue.enter([account], key, isUrgent);
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
    for (;;) {
      const first = this.queue.next((account) => this.questions.fullAt([account]) === undefined);
      if (first === undefined) return;
      const keys = [first.item];
      const next = () => (keys.length < MAX_KEYS ? this.queue.next((account) => account === first.account) : undefined);
      for (let further = next(); further !== undefined; further = next()) {
        keys.push(further.item);
        further.done(0);
      }
      this.start(keys, first);
    }
  }

  private start(keys: readonly string[], { account, done }: Taken<string>): void {
    this.questions.take([account]);
    const begun = performance.now();
    const asked = this.ask(keys);
    for (const key of keys) this.finish(key, asked);
    // The next question does not wait until the answers are applied.
    const ended = (): void => {
      this.questions.giveBack([account]);
      done(performance.now() - begun);
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
      const again = this.waiting.get(key);
      if (again !== undefined) this.enter(key, again);
      if (again !== undefined) this.schedule();
    });
    this.underWay.set(
      key,
      acted.catch(() => undefined),
    );
    settle?.(acted.then((isDone) => (isDone ? undefined : this.refresh([key], account || LEFT_OUT))));
  }
}
