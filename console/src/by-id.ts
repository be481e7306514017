import { useEffect, useState } from 'preact/hooks';
import { call } from './api.js';

/** Lists name others by their ids only. Each is read once; browsers send six requests at a time. */
const known = new Map<string, unknown>();

export const forgetAll = (): void => known.clear();

/** What the ids of a path stand for. Undefined: not read yet, or gone. */
export function useById<T>(path: string, ids: readonly string[]): (id: string) => T | undefined {
  const [, redraw] = useState(0);
  const wanted = [...new Set(ids)].map((id) => `${path}/${encodeURIComponent(id)}`).join();
  useEffect(() => {
    const missing = wanted.split(',').filter((at) => at !== '' && !known.has(at));
    for (const at of missing) known.set(at, undefined);
    const reads = missing.map((at) =>
      call<T>('GET', at).then(
        (found) => known.set(at, found),
        () => known.delete(at),
      ),
    );
    if (reads.length > 0) void Promise.all(reads).then(() => redraw((times) => times + 1));
  }, [wanted]);
  return (id) => known.get(`${path}/${encodeURIComponent(id)}`) as T | undefined;
}
