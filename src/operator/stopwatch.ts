/** The duration of an operation and of its steps, in seconds with one decimal. */
export class Stopwatch {
  private readonly startedMs = Date.now();
  private readonly steps: { readonly name: string; readonly atMs: number }[] = [];

  begin(name: string): void {
    this.steps.push({ name, atMs: Date.now() });
  }

  get total(): string {
    return seconds(Date.now() - this.startedMs);
  }

  /** All steps with this name together. A step lasts until the next one begins. */
  of(name: string): string {
    const lasted = this.steps.map((step, i) => ({ ...step, ms: (this.steps[i + 1]?.atMs ?? Date.now()) - step.atMs }));
    return seconds(lasted.filter((step) => step.name === name).reduce((sum, { ms }) => sum + ms, 0));
  }
}

const seconds = (ms: number): string => (ms / 1000).toFixed(1);
