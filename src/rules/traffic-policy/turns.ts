import { nextTurn } from '../../kernel/in-turns.js';

/** The longest work in one turn of the event loop, apart from what cannot be cut. */
const MAX_TURN_MS = 1;

/** The turns of one work of an account, which lets others work between its steps. */
export class Turns {
  private endMs = 0;

  constructor(private readonly account: string) {}

  /** Comes before each step. Waits for another turn if this one has taken its time. */
  async step(): Promise<void> {
    if (performance.now() < this.endMs) return;
    await nextTurn(this.account);
    this.endMs = performance.now() + MAX_TURN_MS;
  }
}

/** Maps the items, each after the one before. */
export async function oneByOne<Item, Result>(
  items: readonly Item[],
  read: (item: Item, n: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [n, item] of items.entries()) results.push(await read(item, n));
  return results;
}
