import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { Expiries } from './expiries.js';

interface Right {
  readonly name: string;
  expiresAt?: number | undefined;
}

/** The clock of the gateway is at 0, and moves by `pass`. */
const DAY_MS = 86_400_000;
let held: Set<Right>;
let service: { isFollowing: boolean };
let asked: string[];
/** What the service answers; by default nothing. */
let answer: (rights: readonly Right[]) => Promise<void>;
let ended: [name: string, at: number][];
let expiries: Expiries<Right>;

beforeEach(() => {
  jest.useFakeTimers({ now: 0 });
  [held, service, asked, ended] = [new Set(), { isFollowing: false }, [], []];
  answer = () => new Promise(() => undefined);
  const began = performance.now();
  expiries = new Expiries(held, service, {
    ask: (rights) => {
      asked.push(...rights.map(({ name }) => name));
      return answer(rights);
    },
    drop: (right) => {
      held.delete(right);
      ended.push([right.name, performance.now() - began]);
    },
  });
});
afterEach(() => {
  expiries.stop();
  jest.useRealTimers();
});

function hold(name: string, inMs?: number): Right {
  const right = { name, expiresAt: inMs === undefined ? undefined : performance.now() + inMs };
  held.add(right);
  expiries.watch(right);
  return right;
}
const pass = (ms: number) => jest.advanceTimersByTimeAsync(ms);

it('while the service is away, each right ends at its time, and one without an expiry stays', async () => {
  hold('later', 5_000);
  hold('never');
  hold('sooner', 1_000);
  hold('too', 1_000);
  await pass(60_000);
  expect(ended).toEqual([
    ['sooner', 1_000],
    ['too', 1_000],
    ['later', 5_000],
  ]);
  expect([...held].map(({ name }) => name)).toEqual(['never']);
  expect(asked).toEqual([]);
});

it('a right ends at its time, however many days away that is', async () => {
  hold('in 60 days', 60 * DAY_MS);
  await pass(60 * DAY_MS - 1);
  expect(ended).toEqual([]);
  await pass(1);
  expect(ended).toEqual([['in 60 days', 60 * DAY_MS]]);
});

it('a service that is followed tells of an expiry first, and is not asked', async () => {
  service.isFollowing = true;
  const right = hold('told', 1_000);
  await pass(1_200);
  held.delete(right);
  await pass(10_000);
  expect([asked, ended]).toEqual([[], []]);
});

it('a service that is followed and told nothing is asked, and what it prolongs stays', async () => {
  service.isFollowing = true;
  hold('prolonged', 1_000);
  hold('not prolonged', 1_000);
  answer = async ([prolonged]) => {
    if (prolonged?.name === 'prolonged') prolonged.expiresAt = performance.now() + 2_000;
  };
  await pass(1_500);
  expect(asked).toEqual(['prolonged', 'not prolonged']);
  expect(ended).toEqual([['not prolonged', 1_250]]);
  answer = async () => undefined;
  await pass(10_000);
  expect(ended.slice(1)).toEqual([['prolonged', 3_500]]);
});

it('a service that hangs, and was not given up yet, prolongs no right by a second', async () => {
  service.isFollowing = true;
  hold('one', 1_000);
  hold('other', 1_300);
  await pass(10_000);
  expect(ended.map(([name]) => name)).toEqual(['one', 'other']);
  expect(Math.max(...ended.map(([, at], n) => at - ([1_000, 1_300][n] ?? 0)))).toBeLessThan(1_000);
});

it('what had expired unheard ends when the service is lost', async () => {
  service.isFollowing = true;
  hold('unheard', 1_000);
  hold('later', 2_000);
  await pass(1_100);
  service.isFollowing = false;
  await pass(10_000);
  expect(ended).toEqual([
    ['unheard', 1_250],
    ['later', 2_000],
  ]);
});
