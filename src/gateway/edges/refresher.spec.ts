import { expect, it } from '@jest/globals';
import { Refresher } from './refresher.js';

it('a key that is asked for while it is refreshed is refreshed once more, however often it is asked for', async () => {
  const begun: (() => void)[] = [];
  const refresher = new Refresher(() => new Promise((resolve) => begun.push(resolve)));
  const first = refresher.refresh(new Set(['a']));
  await new Promise(setImmediate);
  const later = [1, 2, 3].map(() => refresher.refresh(new Set(['a'])));
  begun[0]?.();
  await first;
  await new Promise(setImmediate);
  expect(begun).toHaveLength(2);
  begun[1]?.();
  await Promise.all(later);
  await refresher.idle();
  expect(begun).toHaveLength(2);
});

it('a few are under way at once, and a failure rejects the whole but leaves no key behind', async () => {
  let [running, max] = [0, 0];
  const refresher = new Refresher(async (key) => {
    running += 1;
    max = Math.max(max, running);
    await new Promise(setImmediate);
    running -= 1;
    if (key === '7') throw new Error('seven');
  });
  const keys = new Set(Array.from({ length: 30 }, (_, n) => String(n)));
  await expect(refresher.refresh(keys)).rejects.toThrow('seven');
  await refresher.idle();
  expect([running, max]).toEqual([0, 8]);
  await refresher.refresh(new Set(['1']));
});
