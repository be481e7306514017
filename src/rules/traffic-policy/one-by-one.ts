/** Maps the items, each after the one before. */
export async function oneByOne<Item, Result>(
  items: readonly Item[],
  read: (item: Item, n: number) => Promise<Result>,
): Promise<Result[]> {
  const results: Result[] = [];
  for (const [n, item] of items.entries()) results.push(await read(item, n));
  return results;
}
