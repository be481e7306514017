import { expect, it } from '@jest/globals';
import { mapInTurns, nextTurn } from './in-turns.js';

const busyFor = (ms: number): void => {
  const end = performance.now() + ms;
  while (performance.now() < end);
};

it('others work after each millisecond, and the results keep their order', async () => {
  let others = 0;
  let isOver = false;
  const count = (): void => {
    others += 1;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const items = Array.from({ length: 40 }, (_, n) => n);
  const { results, turns } = await mapInTurns(items, (item, n) => {
    busyFor(0.5);
    return [item, n];
  });
  isOver = true;
  expect(results).toEqual(items.map((item) => [item, item]));
  expect(turns).toBeGreaterThan(10);
  expect(others).toBeGreaterThanOrEqual(turns - 1);
});

it('accounts rotate, and each turn of the event loop has one work', async () => {
  const begun: string[] = [];
  const begin = (account: string) => nextTurn(account).then(() => void begun.push(account));
  const all = ['a', 'a', 'a', 'b', 'c'].map(begin);
  let turns = 0;
  const count = (): void => {
    turns += 1;
    if (begun.length < all.length) setImmediate(count);
  };
  setImmediate(count);
  await Promise.all(all);
  expect(begun).toEqual(['a', 'b', 'c', 'a', 'a']);
  expect(turns).toBeGreaterThanOrEqual(all.length - 1);
});

it('after a long step others have as much time before the next one', async () => {
  let turns = 0;
  let isOver = false;
  const count = (): void => {
    turns += 1;
    if (!isOver) setImmediate(count);
  };
  const steps = Array.from({ length: 3 }, () => nextTurn().then(() => busyFor(20)));
  setImmediate(count);
  await Promise.all(steps);
  isOver = true;
  expect(turns).toBeGreaterThan(20);
});

it('what takes less is done in one turn', async () => {
  let isNext = false;
  setImmediate(() => {
    isNext = true;
  });
  expect(await mapInTurns([1, 2, 3], (item) => item * 2)).toEqual({ results: [2, 4, 6], turns: 1 });
  expect(isNext).toBe(false);
});

it('what throws ends it', async () => {
  const work = (item: number): number => {
    if (item === 2) throw new Error('two');
    return item;
  };
  await expect(mapInTurns([1, 2, 3], work)).rejects.toThrow('two');
});
