/** Places for what is open at once, such as the live feeds of an account. */
export class Places {
  private readonly taken = new Map<string, number>();

  /** Takes a place of `name`, or returns false if `max` are taken. */
  take(name: string, max: number): boolean {
    const taken = this.taken.get(name) ?? 0;
    if (taken >= max) return false;
    this.taken.set(name, taken + 1);
    return true;
  }

  giveBack(name: string): void {
    const left = (this.taken.get(name) ?? 0) - 1;
    if (left > 0) this.taken.set(name, left);
    else this.taken.delete(name);
  }
}
