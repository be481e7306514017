/** The longest work in one turn of the event loop. */
const MAX_TURN_MS = 1;

/** The callers that wait for a turn, by account. The process has one event loop, and thus one such map. */
const waiting = new Map<string, (() => void)[]>();

/**
 * Resolves at the beginning of a turn of the event loop. Each turn goes to one caller only, so any other request waits
 * for one caller at most before its own next step. Accounts take turns.
 */
export function nextTurn(account = ''): Promise<void> {
  return new Promise((resolve) => {
    if (waiting.size === 0) setImmediate(beginOne);
    const line = waiting.get(account) ?? [];
    line.push(resolve);
    waiting.set(account, line);
  });
}

function beginOne(): void {
  for (const [account, line] of waiting) {
    waiting.delete(account);
    const begin = line.shift();
    // The account goes to the end, behind the other accounts.
    if (line.length > 0) waiting.set(account, line);
    begin?.();
    break;
  }
  if (waiting.size > 0) setImmediate(beginOne);
}

interface InTurns<Result> {
  readonly results: Result[];
  /** How many turns it took. After more than one, what was read before may have changed. */
  readonly turns: number;
}

/** Maps the items, and lets other requests work after each millisecond. */
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
