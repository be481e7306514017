/** Measures the duration of an operation. */
export class Stopwatch {
  private readonly startedMs = Date.now();

  /** The time since the start, in seconds with one decimal. */
  get total(): string {
    return ((Date.now() - this.startedMs) / 1000).toFixed(1);
  }
}
