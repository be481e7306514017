/** Questions under way at once. */
const MAX_QUESTIONS = 4;
/** Keys of one question. A smaller question lets others have their answers in between. */
const MAX_KEYS = 200;

/** Whose turn a key is asked in, and whether it comes before the account's others. */
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
interface Line {
  readonly urgent: Set<string>;
  readonly others: Set<string>;
}

/**
 * Asks about many keys, several in one question, and applies the answers. The accounts take turns, so that one with many
 * keys waits for itself. What is asked for while it is under way is asked once more afterwards.
 */
export class Refresher<Answer> {
  private readonly waiting = new Map<string, Waiting>();
  /** The account that got a turn last is the last one. */
  private readonly lines = new Map<string, Line>();
  private readonly underWay = new Map<string, Promise<unknown>>();
  private questions = 0;
  private isScheduled = false;

  constructor(
    /** A key without an answer is asked about again. */
    private readonly ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, Answer>>,
    private readonly apply: (key: string, answer: Answer) => Promise<void>,
    private readonly turnOf: (key: string) => Turn,
  ) {}

  /** Resolves once each was done after this call; rejects if one of them fails. `account`: of keys that had no turn yet. */
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
    // The account of what is served is sure; else it may have been another one's before.
    const name = turn.isUrgent ? turn.account : account || turn.account;
    const line = this.lines.get(name) ?? { urgent: new Set(), others: new Set() };
    this.lines.set(name, line);
    (turn.isUrgent ? line.urgent : line.others).add(key);
    let settle: Waiting['settle'] = () => undefined;
    const promise = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.waiting.set(key, { account: name, promise, settle });
    return promise;
  }

  /** Once per turn of the event loop: what is wanted together goes into one question. */
  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.startNext();
    });
  }

  private startNext(): void {
    for (const [account, line] of this.lines) {
      if (this.questions >= MAX_QUESTIONS) return;
      const keys = this.take(line);
      if (keys.length === 0) continue;
      this.lines.delete(account);
      // At the end, where this loop meets it again.
      if (line.urgent.size + line.others.size > 0) this.lines.set(account, line);
      this.start(keys);
    }
  }

  private take({ urgent, others }: Line): string[] {
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

  private start(keys: readonly string[]): void {
    this.questions += 1;
    const asked = this.ask(keys);
    for (const key of keys) this.finish(key, asked);
    // The next question does not wait for what is done with the answers.
    const ended = (): void => {
      this.questions -= 1;
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
    settle?.(acted.then((isDone) => (isDone ? undefined : this.refresh([key], account))));
  }
}
