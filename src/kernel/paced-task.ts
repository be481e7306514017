/** A pause lasts this many times the work before it, so the work takes at most a fifth of the time. */
const PAUSES = 4;

/** Work that others can ask for without end. It runs once at a time, and what is asked for meanwhile is one more run. */
export class PacedTask {
  private last = Promise.resolve();
  private next: Promise<void> | undefined;

  constructor(
    private readonly work: () => Promise<void>,
    private readonly pauseFor = (ms: number): Promise<unknown> =>
      new Promise((resolve) => setTimeout(resolve, ms).unref()),
  ) {}

  /** Settles as the first run that begins from now on. */
  request(): Promise<void> {
    this.next ??= this.last.then(() => this.run());
    return this.next;
  }

  private run(): Promise<void> {
    this.next = undefined;
    const begun = performance.now();
    const run = this.work();
    const pause = () => this.pauseFor(PAUSES * (performance.now() - begun));
    this.last = run.then(pause, pause).then(() => undefined);
    return run;
  }
}
