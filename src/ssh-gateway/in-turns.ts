/** In one turn of the event loop. */
const MAX_TURN_MS = 1;

/** Works that wait for a turn of their own: there is one event loop for all of them. */
const waiting: (() => void)[] = [];

/** So other requests wait for one work alone before each of their own steps, however many there are. */
function nextTurn(): Promise<void> {
  return new Promise((resolve) => {
    waiting.push(resolve);
    if (waiting.length === 1) setImmediate(beginOne);
  });
}

function beginOne(): void {
  waiting.shift()?.();
  if (waiting.length > 0) setImmediate(beginOne);
}

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
      await nextTurn();
      [turns, end] = [turns + 1, performance.now() + MAX_TURN_MS];
    }
    results.push(work(item, n));
  }
  return { results, turns };
}
