/** What is read in the turn of an account. */
export interface OfAccount {
  readonly accountId: string;
  /** It is read however long it takes. */
  readonly isNeeded: boolean;
}

/**
 * Reads items, those of an account one after another. When the time is up, it goes on with those that are needed only. An
 * item that is not read has no entry.
 */
export async function readEachAccount<Item extends OfAccount, Result>(
  items: readonly Item[],
  read: (item: Item) => Promise<Result>,
  timeUp: Promise<unknown>,
): Promise<ReadonlyMap<Item, Result>> {
  const results = new Map<Item, Result>();
  let isTimeUp = false;
  const end = timeUp.then(() => {
    isTimeUp = true;
  });
  const readOne = async (item: Item): Promise<void> => {
    results.set(item, await read(item));
  };
  const readAll = async (accountId: string): Promise<void> => {
    const own = items.filter((item) => item.accountId === accountId);
    for (const item of own) if (item.isNeeded) await readOne(item);
    for (const item of own) {
      if (isTimeUp) return;
      if (!item.isNeeded) await Promise.race([readOne(item), end]);
    }
  };
  await Promise.all([...new Set(items.map(({ accountId }) => accountId))].map(readAll));
  // What is read later is left out.
  return new Map(results);
}
