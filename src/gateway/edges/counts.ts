/** A count for each name, the sum of all, and the name with the largest count. */
export class Counts {
  private readonly counts = new Map<string, number>();
  private readonly names = new Map<number, Set<string>>();
  private most = 0;
  total = 0;

  of(name: string): number {
    return this.counts.get(name) ?? 0;
  }

  /** A name with the largest count; undefined if every count is 0. */
  get largest(): string | undefined {
    const [name] = this.names.get(this.most) ?? [];
    return name;
  }

  add(name: string, change: 1 | -1): void {
    const [old, count] = [this.of(name), this.of(name) + change];
    this.total += change;
    this.forget(name, old);
    if (count > 0) this.note(name, count);
    this.most = Math.max(count, this.names.has(this.most) ? this.most : this.most - 1);
  }

  private note(name: string, count: number): void {
    this.counts.set(name, count);
    const names = this.names.get(count) ?? new Set();
    this.names.set(count, names.add(name));
  }

  private forget(name: string, count: number): void {
    this.counts.delete(name);
    const names = this.names.get(count);
    if (names?.delete(name) === true && names.size === 0) this.names.delete(count);
  }
}
