import { expect, it } from '@jest/globals';
import { DecisionTurns } from './decision-turns.js';

const at = (accountId: string, hostport = 'a:1', isReview = false) => ({ accountId, hostport, isReview });
const wanted = () => true;

function busy(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

it('accounts take turns, and the hostports of an account', async () => {
  const turns = new DecisionTurns();
  const order: string[] = [];
  const take = (accountId: string, hostport: string, n: number) =>
    turns.take(at(accountId, hostport), wanted, () => order.push(`${accountId} ${hostport} ${n}`));
  const all = [0, 1, 2, 3].map((n) => take('a', 'a:1', n));
  all.push(take('a', 'a:2', 0), take('b', 'b:1', 0));
  await Promise.all(all);
  expect(order).toEqual(['a a:1 0', 'b b:1 0', 'a a:2 0', 'a a:1 1', 'a a:1 2', 'a a:1 3']);
});

it('new clients come between the reviews of their hostport', async () => {
  const turns = new DecisionTurns();
  const order: string[] = [];
  const all = [0, 1, 2, 3].map((n) => turns.take(at('a', 'a:1', true), wanted, () => order.push(`review ${n}`)));
  for (const n of [0, 1]) all.push(turns.take(at('a'), wanted, () => order.push(`client ${n}`)));
  await Promise.all(all);
  expect(order).toEqual(['review 0', 'client 0', 'review 1', 'client 1', 'review 2', 'review 3']);
});

it('other work goes on between long decisions', async () => {
  const turns = new DecisionTurns();
  let decided = 0;
  const all = Array.from({ length: 5 }, () =>
    turns.take(at('a'), wanted, () => {
      busy(2);
      decided += 1;
    }),
  );
  const seen: number[] = [];
  while (decided < 5) {
    await new Promise(setImmediate);
    seen.push(decided);
  }
  await Promise.all(all);
  expect(seen).toEqual([1, 2, 3, 4, 5]);
});

it('what is no longer wanted in its turn is not decided', async () => {
  const turns = new DecisionTurns();
  let isWanted = true;
  const taken = turns.take(
    at('a'),
    () => isWanted,
    () => 'decided',
  );
  isWanted = false;
  expect(await taken).toBeUndefined();
});

it('a decision that fails fails alone', async () => {
  const turns = new DecisionTurns();
  const failing = turns.take(at('a'), wanted, () => {
    throw new Error('broken');
  });
  const next = turns.take(at('a'), wanted, () => 'decided');
  await expect(failing).rejects.toThrow('broken');
  expect(await next).toBe('decided');
});
