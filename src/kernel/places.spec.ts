import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Path } from './fair-queue.js';
import { type Place, Places } from './places.js';

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

/** How many single places the path can take. */
function fill(places: Places, path: Path): number {
  let count = 0;
  for (; places.fullAt(path) === undefined; count += 1) places.take(path);
  return count;
}

describe('places that refuse', () => {
  it('have a maximum for all together, for a name and for a name below it, and tell the narrowest', () => {
    const places = new Places([10, 5, 2]);
    expect([fill(places, ['a', 'x']), fill(places, ['a', 'y']), fill(places, ['a', 'z'])]).toEqual([2, 2, 1]);
    expect([places.fullAt(['a', 'x']), places.fullAt(['a', 'z'])]).toEqual([2, 1]);
    for (const name of ['b', 'c', 'd']) fill(places, [name, 'x']);
    expect([fill(places, ['e', 'x']), places.fullAt(['f', 'x']), places.held(), places.held('a', 'x')]).toEqual([
      0, 0, 10, 2,
    ]);
  });

  it('refuse with 429 at a maximum of the name, and with 503 at that of all; each is given back once', () => {
    const places = new Places([3, 2]);
    const enter = (name: string) => places.enter([name], 'your own', 'all');
    const leave = enter('a');
    enter('a');
    expect(() => enter('a')).toThrow(expect.objectContaining({ status: 429, message: 'your own' }));
    enter('b');
    expect(() => enter('c')).toThrow(expect.objectContaining({ status: 503, message: 'all' }));
    leave();
    leave();
    expect([places.held(), places.held('a')]).toEqual([2, 1]);
  });

  it('leave half of what is left to others, however much one asks', () => {
    const places = new Places([1_000, 'half', 'half']);
    expect(fill(places, ['a'])).toBe(500);
    expect(fill(places, ['b'])).toBe(250);
    expect(fill(places, ['c'])).toBe(125);
    expect(places.fullAt(['d'])).toBeUndefined();
  });

  it('leave half of the half of an account to its other sources', () => {
    const places = new Places([900, 'half', 'half']);
    expect(fill(places, ['a', 'flood'])).toBe(225);
    expect(fill(places, ['a', 'guest'])).toBe(112);
    expect(fill(places, ['b', 'flood'])).toBeGreaterThan(100);
  });

  it('can all be taken at once by who holds none', () => {
    const places = new Places([1_000, 'half', 'half']);
    expect([places.fullAt(['a', 's'], 1_001), places.fullAt(['a', 's'], 1_000)]).toEqual([0, undefined]);
    places.take(['a', 's'], 1_000);
    expect(places.fullAt(['b', 's'])).toBe(0);
    places.giveBack(['a', 's'], 1_000);
    expect(fill(places, ['a'])).toBe(500);
  });
});

/** Places whose holders give way, with what each name holds. */
function room(places: Places) {
  const held = new Map<string, number>();
  const change = (path: Path, by: number): void => {
    for (let n = 1; n <= path.length; n += 1) {
      const name = path.slice(0, n).join(' ');
      held.set(name, (held.get(name) ?? 0) + by);
    }
  };
  const take = (...path: Path): (() => void) | undefined => {
    const place = places.hold(path, () => change(path, -1));
    if (place === undefined) return undefined;
    change(path, 1);
    return () => {
      place.leave();
      change(path, -1);
    };
  };
  const of = (name: string): number => held.get(name) ?? 0;
  return { take, of, fill: (count: number, ...path: Path) => void times(count, () => take(...path)) };
}

describe('places whose largest holder gives way', () => {
  it('can all be held by one name while no other wants one, and then half of them', () => {
    const { fill, of } = room(new Places([100]));
    fill(150, 'a', 's');
    expect(of('a')).toBe(100);
    fill(100, 'b', 's');
    expect([of('a'), of('b')]).toEqual([50, 50]);
  });

  it('are shared in the same way by the names below one', () => {
    const { fill, of } = room(new Places([90]));
    fill(100, 'a', 'attacker');
    fill(30, 'a', 'guest');
    fill(100, 'a', 'other');
    expect([of('a attacker'), of('a guest'), of('a other')]).toEqual([30, 30, 30]);
  });

  it('are lost by the largest name below the largest name', () => {
    const { fill, of } = room(new Places([10]));
    fill(2, 'a', 'few');
    fill(8, 'a', 'many');
    fill(3, 'b', 's');
    expect([of('a few'), of('a many'), of('b')]).toEqual([2, 5, 3]);
  });

  it('are shared within the name that has its maximum, and no other name loses one', () => {
    const { fill, of } = room(new Places([Number.POSITIVE_INFINITY, 100, 10]));
    fill(50, 'a', 'other credential', 's');
    fill(20, 'a', 'credential', 'flood');
    fill(3, 'a', 'credential', 'guest');
    expect([of('a credential flood'), of('a credential guest'), of('a other credential')]).toEqual([7, 3, 10]);
  });

  it('are never more than the maximum; the largest holder loses first, if the newcomer has at least two fewer', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const steps = fc.array(fc.record({ account: name, source: name, leaves: fc.boolean() }), { maxLength: 200 });
    const law = fc.property(steps, fc.integer({ min: 1, max: 20 }), (all, max) => {
      const { take, of } = room(new Places([max]));
      const accounts = ['a', 'b', 'c', 'd'];
      for (const { account, source, leaves } of all) {
        const before = new Map(accounts.map((one) => [one, of(one)]));
        const most = Math.max(...before.values());
        const isFull = [...before.values()].reduce((sum, count) => sum + count, 0) === max;
        const leave = take(account, source);
        const losing = accounts.filter((one) => one !== account && of(one) < (before.get(one) ?? 0));
        expect(losing.every((one) => before.get(one) === most)).toBe(true);
        expect(accounts.reduce((sum, one) => sum + of(one), 0)).toBeLessThanOrEqual(max);
        if (isFull && (before.get(account) ?? 0) + 2 <= most)
          expect([leave, losing.length]).toEqual([expect.any(Function), 1]);
        if (leaves && leave !== undefined && of(`${account} ${source}`) > 0) leave();
      }
    });
    fc.assert(law, { numRuns: 200 });
  });

  it('are lost at random, so that one that waits cannot know how long it stays', () => {
    const dropped = new Set<number>();
    for (let round = 0; round < 200; round += 1) {
      const places = new Places([4]);
      for (let n = 0; n < 4; n += 1) places.hold(['one'], () => dropped.add(n));
      places.hold(['other'], () => undefined);
    }
    expect([...dropped].sort()).toEqual([0, 1, 2, 3]);
  });

  it('come back once each', () => {
    const { take, of } = room(new Places([2]));
    const leave = take('one');
    take('two');
    leave?.();
    expect([take('three') === undefined, take('four'), of('two'), of('three')]).toEqual([false, undefined, 1, 1]);
  });
});

describe('places whose holders have ended', () => {
  function held(...max: readonly number[]) {
    const places = new Places(max);
    const dropped: string[] = [];
    const hold = (name: string, ...path: Path): Place | undefined => places.hold(path, () => dropped.push(name));
    return { hold, dropped };
  }

  it('go to newcomers of their name, the oldest end first, and only when a place is needed', () => {
    const { hold, dropped } = held(Number.POSITIVE_INFINITY, 3);
    const [first, second] = [hold('first', 'a', 's'), hold('second', 'a', 's')];
    second?.ended();
    first?.ended();
    expect([hold('third', 'a', 's') === undefined, dropped]).toEqual([false, []]);
    expect([hold('', 'a', 't') === undefined, hold('', 'a', 't') === undefined]).toEqual([false, false]);
    expect([dropped, hold('', 'a', 't')]).toEqual([['second', 'first'], undefined]);
  });

  it('of a name that has to give way go first; those of another name stay', () => {
    const { hold, dropped } = held(6);
    hold('of another', 'b', 's')?.ended();
    for (let n = 0; n < 4; n += 1) hold('many', 'a', 'many');
    hold('ended', 'a', 'few')?.ended();
    expect(hold('', 'b', 's')).toBeDefined();
    expect(dropped).toEqual(['ended']);
    expect(hold('', 'a', 'few')).toBeDefined();
    expect(dropped).toEqual(['ended', 'many']);
  });

  it('that are gone take nobody with them', () => {
    const { hold, dropped } = held(1);
    const place = hold('gone', 'a', 's');
    place?.ended();
    place?.leave();
    place?.ended();
    expect([hold('next', 'a', 's') === undefined, hold('', 'a', 's'), dropped]).toEqual([false, undefined, []]);
  });

  it('of a full account go to any of its credentials, and those of a full credential to itself alone', () => {
    const { hold, dropped } = held(Number.POSITIVE_INFINITY, 3, 2);
    hold('of one', 'account', 'one', 's')?.ended();
    hold('', 'account', 'other', 's');
    hold('of other', 'account', 'other', 's')?.ended();
    hold('', 'account', 'other', 's');
    expect(dropped).toEqual(['of other']);
    hold('', 'account', 'one', 's');
    expect(dropped).toEqual(['of other', 'of one']);
  });
});

describe('places with a tenure', () => {
  it.each([1, 2_000])(
    'are not lost to thousands of clients of %s sources that come back at once: each logs in in its time',
    (sources) => {
      let [now, dropped] = [0, 0];
      const places = new Places([500], 10_000, () => now);
      const leaving: (() => void)[] = [];
      const come = (n: number): boolean => {
        const place = places.hold([`source ${n % sources}`], () => (dropped += 1));
        if (place !== undefined) leaving.push(place.leave);
        return place !== undefined;
      };
      let waiting = times(2_000, (n) => n);
      // Each second 100 clients log in, and all others try again.
      for (; waiting.length > 0 && now < 60_000; now += 1_000) {
        for (const leave of leaving.splice(0, 100)) leave();
        waiting = waiting.filter((n) => !come(n));
      }
      expect([waiting.length, dropped]).toEqual([0, 0]);
    },
  );

  it('go to newcomers after it, also if holders of many sources keep them', () => {
    let now = 0;
    const places = new Places([500], 10_000, () => now);
    times(500, (n) => places.hold([`idle ${n}`], () => undefined));
    expect(places.hold(['client'], () => undefined)).toBeUndefined();
    now = 10_000;
    expect(places.hold(['client'], () => undefined)).toBeDefined();
  });
});
