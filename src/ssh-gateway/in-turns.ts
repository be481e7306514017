/** In one turn of the event loop. Other requests wait for so long at the most. */
const MAX_TURN_MS = 1;

interface InTurns<Result> {
  readonly results: Result[];
  /** More than one: others had their turns meanwhile, and what was read before may have changed. */
  readonly turns: number;
}

/** Works on each item, and lets others work after each millisecond. */
export async function mapInTurns<Item, Result>(
  items: readonly Item[],
  work: (item: Item, n: number) => Result,
): Promise<InTurns<Result>> {
  const results: Result[] = [];
  let [turns, end] = [1, performance.now() + MAX_TURN_MS];
  for (const [n, item] of items.entries()) {
    if (performance.now() >= end) {
      await new Promise((resolve) => setImmediate(resolve));
      [turns, end] = [turns + 1, performance.now() + MAX_TURN_MS];
    }
    results.push(work(item, n));
  }
  return { results, turns };
}
