import { describe, expect, it } from '@jest/globals';
import { coalesced, coalescedByAccount } from './coalesce.js';

/** A coalesced look-up of upper-case texts, and the keys of each of its queries. */
function upperCase() {
  const queries: (readonly string[])[] = [];
  const find = coalesced<string>(async (keys) => {
    queries.push(keys);
    if (keys.includes('broken')) throw new Error('the query failed');
    return new Map(keys.filter((key) => key !== 'unknown').map((key) => [key, key.toUpperCase()]));
  });
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
    const find = coalesced<number>(([key = '']) => {
      const number = queries.push(key);
      return new Promise((resolve) => {
        answer = () => resolve(new Map([[key, number]]));
      });
    });
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

  it('asks for one account in a query, so that no account waits for the query of another, nor fails with it', async () => {
    const queries: string[] = [];
    const find = coalescedByAccount<string>(async (accountId, ids) => {
      queries.push(`${accountId} ${ids.join()}`);
      if (accountId === 'ac_broken') throw new Error('the query failed');
      if (accountId === 'ac_silent') await new Promise(() => undefined);
      return new Map(ids.map((id) => [id, `${accountId} ${id}`]));
    });
    const of = (accountId: string, id: string) => find({ accountId, id });
    void of('ac_silent', 'a');
    const [broken, ...found] = [of('ac_broken', 'a'), of('ac_1', 'a'), of('ac_2', 'a'), of('ac_1', 'b')];
    await expect(broken).rejects.toThrow('the query failed');
    expect(await Promise.all(found)).toEqual(['ac_1 a', 'ac_2 a', 'ac_1 b']);
    expect(queries).toEqual(['ac_silent a', 'ac_broken a', 'ac_1 a,b', 'ac_2 a']);
  });
});
