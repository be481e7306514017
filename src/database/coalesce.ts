import DataLoader from 'dataloader';

const MAX_KEYS_PER_QUERY = 500;

/**
 * Turns look-ups that arrive in one turn of the event loop into one query. Nothing is cached: each look-up is answered by
 * a query that starts after it arrived, so an answer is never older than its question.
 */
export function coalesced<Key, Value>(
  keyText: (key: Key) => string,
  load: (keys: readonly Key[]) => Promise<ReadonlyMap<string, Value>>,
): (key: Key) => Promise<Value | undefined> {
  const loader = new DataLoader<Key, Value | undefined>(
    async (keys) => {
      const found = await load(keys);
      return keys.map((key) => found.get(keyText(key)));
    },
    { cache: false, maxBatchSize: MAX_KEYS_PER_QUERY, batchScheduleFn: setImmediate },
  );
  return (key) => loader.load(key);
}
