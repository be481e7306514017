import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { FairQueue, type Path } from './fair-queue.js';

/** Works on the items of a queue, in a time that passes only meanwhile. */
function virtual() {
  const queue = new FairQueue<string>();
  const [worked, spentMs] = [[] as string[], new Map<string, number>()];
  const floods = new Map<string, Path>();
  /** A name that has always something to do, as a client that sends without pause. */
  const flood = (path: Path): void => {
    const name = path.join(' ');
    floods.set(name, path);
    queue.enter(path, name);
  };
  const work = (msOf: number | ((name: string) => number)): string | undefined => {
    const next = queue.next();
    if (next === undefined) return undefined;
    const path = floods.get(next.item);
    if (path !== undefined) queue.enter(path, next.item);
    const ms = typeof msOf === 'number' ? msOf : msOf(next.item);
    next.done(ms);
    worked.push(next.item);
    spentMs.set(next.item, (spentMs.get(next.item) ?? 0) + ms);
    return next.item;
  };
  return { queue, worked, spentMs, flood, work };
}

const PARTS_MS = fc.array(fc.integer({ min: 1, max: 500 }), { minLength: 1, maxLength: 40 });
const times = (count: number, act: (n: number) => void): void =>
  Array.from({ length: count }, (_, n) => n).forEach(act);

describe.each([
  ['accounts', (n: number): Path => [`account ${n}`]],
  ['names of an account', (n: number): Path => ['strangers', `source ${n}`]],
])('when %s flood a queue', (_, pathOf) => {
  it('a newcomer begins after at most one piece of each other', () => {
    const law = fc.property(PARTS_MS, fc.integer({ min: 1, max: 40 }), fc.nat(300), (partsMs, count, before) => {
      const { queue, worked, flood, work } = virtual();
      times(count, (n) => times(3, () => flood(pathOf(n))));
      const next = (n: number) => work(partsMs[n % partsMs.length] ?? 1);
      times(before, next);
      worked.length = 0;
      queue.enter(pathOf(count), 'newcomer');
      for (let n = before; next(n) !== 'newcomer'; n += 1);
      expect(new Set(worked).size).toBe(worked.length);
    });
    fc.assert(law);
  });

  it('all have the same time, whatever a piece takes', () => {
    const law = fc.property(PARTS_MS, fc.integer({ min: 2, max: 10 }), (partsMs, count) => {
      const { spentMs, flood, work } = virtual();
      times(count, (n) => flood(pathOf(n)));
      times(1_000, (n) => void work(partsMs[n % partsMs.length] ?? 1));
      const all = [...spentMs.values()];
      expect(Math.max(...all) - Math.min(...all)).toBeLessThanOrEqual(Math.max(...partsMs));
    });
    fc.assert(law, { numRuns: 30 });
  });

  it('one that comes late does not make up for the time before it came', () => {
    const { worked, flood, work } = virtual();
    flood(pathOf(0));
    times(100, () => void work(10));
    flood(pathOf(1));
    worked.length = 0;
    times(10, () => void work(10));
    expect(worked.filter((name) => name === pathOf(0).join(' '))).toHaveLength(5);
  });

  it('those that used the same have the same number of items that are under way', () => {
    const { queue } = virtual();
    times(2, (n) => times(4, () => queue.enter(pathOf(n), `${n}`)));
    const taken = Array.from({ length: 4 }, () => queue.next()?.item);
    expect(taken.sort()).toEqual(['0', '0', '1', '1']);
  });

  it('one that is without work for a moment comes back with what it has used', () => {
    const { queue, worked, flood, work } = virtual();
    flood(pathOf(0));
    times(20, () => {
      queue.enter(pathOf(1), 'in and out');
      // Its pieces are 20 times as long.
      while (work((next) => (next === 'in and out' ? 20 : 1)) !== 'in and out');
    });
    expect(worked.length).toBeGreaterThan(300);
  });
});

describe('a revocation', () => {
  it('waits for no visitor of its account, and for each other account no longer than the longest piece takes', () => {
    const law = fc.property(PARTS_MS, fc.integer({ min: 1, max: 20 }), (partsMs, hostports) => {
      const { queue, worked, spentMs, flood, work } = virtual();
      times(hostports, (n) => times(20, () => flood(['own', 'edges', `hostport ${n}`])));
      times(5, (n) => flood([`account ${n}`]));
      times(50, (n) => void work(partsMs[n % partsMs.length] ?? 1));
      const before = new Map(spentMs);
      worked.length = 0;
      queue.enter(['own', 'edges', 'hostport 0'], 'revocation', true);
      for (let n = 0; work(partsMs[n % partsMs.length] ?? 1) !== 'revocation'; n += 1);
      expect(worked.filter((name) => name.startsWith('own'))).toEqual([]);
      const waitedMs = [...new Set(worked)].map((name) => (spentMs.get(name) ?? 0) - (before.get(name) ?? 0));
      expect(Math.max(...waitedMs)).toBeLessThanOrEqual(2 * Math.max(...partsMs));
    });
    fc.assert(law);
  });
});

describe('an item', () => {
  it('that left the queue is not taken, and an account that may have none now is passed over', () => {
    const { queue } = virtual();
    const leave = queue.enter(['a'], 'left');
    for (const account of ['a', 'b']) queue.enter([account], `of ${account}`);
    leave();
    leave();
    expect(queue.size).toBe(2);
    expect(queue.next((account) => account === 'b')?.item).toBe('of b');
    expect(queue.next((account) => account === 'b')).toBeUndefined();
    expect([queue.next()?.item, queue.next(), queue.size]).toEqual(['of a', undefined, 0]);
  });

  it('of a name that comes once leaves no memory behind', () => {
    const { queue, flood, work } = virtual();
    flood(['busy']);
    times(20_000, (n) => {
      queue.enter([`name ${n}`], 'once');
      while (work(1) !== 'once');
    });
    const { root } = queue as unknown as { root: { rested: ReadonlyMap<string, number> } };
    expect(root.rested.size).toBeLessThanOrEqual(1_000);
  });
});
