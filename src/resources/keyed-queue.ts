/** Runs work of one key in sequence, and work of different keys at the same time. */
export class KeyedQueue {
  private readonly last = new Map<string, Promise<unknown>>();

  run<T>(key: string, work: () => Promise<T>): Promise<T> {
    const result = (this.last.get(key) ?? Promise.resolve()).then(work);
    const ended: Promise<void> = result.then(
      () => this.forget(key, ended),
      () => this.forget(key, ended),
    );
    this.last.set(key, ended);
    return result;
  }

  private forget(key: string, ended: Promise<void>): void {
    if (this.last.get(key) === ended) this.last.delete(key);
  }
}
