const MAX_AT_ONCE = 8;

/** Does one thing for many keys, a few at once. What is asked for while it is under way is done again afterwards. */
export class Refresher {
  private readonly wanted = new Map<string, Promise<void>>();
  private readonly latest = new Map<string, Promise<void>>();
  private readonly waiting: (() => void)[] = [];
  private running = 0;

  constructor(private readonly act: (key: string) => Promise<void>) {}

  /** Resolves once each was done after this call; rejects if one of them fails. */
  async refresh(keys: ReadonlySet<string>): Promise<void> {
    await Promise.all([...keys].map((key) => this.one(key)));
  }

  /** Resolves once nothing is under way. */
  async idle(): Promise<void> {
    while (this.latest.size > 0) await Promise.allSettled([...this.latest.values()]);
  }

  private one(key: string): Promise<void> {
    const queued = this.wanted.get(key);
    if (queued !== undefined) return queued;
    const next = this.after(key, this.latest.get(key));
    this.wanted.set(key, next);
    this.latest.set(key, next);
    const done = (): void => {
      if (this.latest.get(key) === next) this.latest.delete(key);
    };
    next.then(done, done);
    return next;
  }

  private async after(key: string, current: Promise<void> | undefined): Promise<void> {
    await current?.catch(() => undefined);
    await this.enter();
    this.wanted.delete(key);
    try {
      await this.act(key);
    } finally {
      this.leave();
    }
  }

  private async enter(): Promise<void> {
    if (this.running >= MAX_AT_ONCE) await new Promise<void>((resolve) => this.waiting.push(resolve));
    else this.running += 1;
  }

  /** Hands the place over to the next one. */
  private leave(): void {
    const next = this.waiting.shift();
    if (next === undefined) this.running -= 1;
    else next();
  }
}
