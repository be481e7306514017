import { describe, expect, it } from '@jest/globals';
import { coalesced } from './coalesce.js';

/** A coalesced look-up of upper-case texts, and the keys of each of its queries. */
function upperCase() {
  const queries: (readonly string[])[] = [];
  const find = coalesced<string, string>(
    (key) => key,
    async (keys) => {
      queries.push(keys);
      if (keys.includes('broken')) throw new Error('the query failed');
      return new Map(keys.filter((key) => key !== 'unknown').map((key) => [key, key.toUpperCase()]));
    },
  );
  return { find, queries };
}

describe('a coalesced look-up', () => {
  it('asks once for the keys of one turn, each of them once', async () => {
    const { find, queries } = upperCase();
    expect(await Promise.all(['a', 'b', 'a', 'unknown'].map(find))).toEqual(['A', 'B', 'A', undefined]);
    expect(queries).toEqual([['a', 'b', 'unknown']]);
  });

  it('asks again for a key that arrives while its query is under way: no answer is older than its request', async () => {
    const queries: string[] = [];
    let answer = (): void => undefined;
    const find = coalesced<string, number>(
      (key) => key,
      ([key = '']) => {
        const number = queries.push(key);
        return new Promise((resolve) => {
          answer = () => resolve(new Map([[key, number]]));
        });
      },
    );
    const first = find('a');
    await new Promise(setImmediate);
    const second = find('a');
    answer();
    expect(await first).toBe(1);
    await new Promise(setImmediate);
    answer();
    expect(await second).toBe(2);
  });

  it('asks for 500 keys in one query at most', async () => {
    const { find, queries } = upperCase();
    const keys = Array.from({ length: 1_001 }, (_, n) => `key ${n}`);
    const found = await Promise.all(keys.map(find));
    expect(found).toEqual(keys.map((key) => key.toUpperCase()));
    expect(queries.map(({ length }) => length)).toEqual([500, 500, 1]);
  });

  it('fails with its query, and not with an earlier one', async () => {
    const { find } = upperCase();
    const failed = await Promise.allSettled(['a', 'broken', 'a'].map(find));
    expect(failed.map(({ status }) => status)).toEqual(['rejected', 'rejected', 'rejected']);
    expect(await find('a')).toBe('A');
  });
});
