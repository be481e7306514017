/** The longest work in one turn of the event loop. */
const MAX_TURN_MS = 1;

/** The callers that wait for a turn, by account. The process has one event loop, and thus one such map. */
const waiting = new Map<string, (() => void)[]>();
let isScheduled = false;
let restsUntil = 0;

/**
 * Resolves at the beginning of a turn of the event loop. Each turn goes to one caller only, and what a caller does then
 * without a wait is its step. Accounts take turns. After a long step the next one waits for as long as that step took:
 * a request needs several turns, and would wait for a step in each of them.
 */
export function nextTurn(account = ''): Promise<void> {
  return new Promise((resolve) => {
    const line = waiting.get(account) ?? [];
    line.push(resolve);
    waiting.set(account, line);
    schedule();
  });
}

function schedule(): void {
  if (isScheduled || waiting.size === 0) return;
  isScheduled = true;
  const restMs = restsUntil - performance.now();
  if (restMs > 0) setTimeout(beginOne, Math.ceil(restMs));
  else setImmediate(beginOne);
}

function beginOne(): void {
  for (const [account, line] of waiting) {
    waiting.delete(account);
    const begin = line.shift();
    // The account goes to the end, behind the other accounts.
    if (line.length > 0) waiting.set(account, line);
    const began = performance.now();
    begin?.();
    // A step is done in promises, and this comes after them all.
    queueMicrotask(() => process.nextTick(() => endOne(performance.now() - began)));
    break;
  }
}

function endOne(tookMs: number): void {
  if (tookMs > MAX_TURN_MS) restsUntil = performance.now() + tookMs;
  isScheduled = false;
  schedule();
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
