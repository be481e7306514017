import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EdgePlaces } from './edge-places.js';

function room(max: number) {
  const places = new EdgePlaces(max);
  const held = new Map<string, number>();
  const change = (name: string, by: number): void => void held.set(name, (held.get(name) ?? 0) + by);
  const take = (account: string, source: string): (() => void) | undefined => {
    const names = [account, `${account} ${source}`];
    const drop = (): void => {
      for (const name of names) change(name, -1);
    };
    const leave = places.take(account, source, { drop });
    if (leave === undefined) return undefined;
    for (const name of names) change(name, 1);
    return () => {
      leave();
      for (const name of names) change(name, -1);
    };
  };
  const fill = (account: string, source: string, count: number): void => {
    for (let n = 0; n < count; n += 1) take(account, source);
  };
  return { take, fill, of: (name: string) => held.get(name) ?? 0 };
}

describe('the places of edge connections', () => {
  it('one account may have all of them while no other wants one', () => {
    const { fill, of } = room(100);
    fill('a', 's', 150);
    expect(of('a')).toBe(100);
  });

  it('another account gets as many as the one that had all, and no more', () => {
    const { fill, of } = room(100);
    fill('a', 's', 100);
    fill('b', 's', 100);
    expect([of('a'), of('b')]).toEqual([50, 50]);
  });

  it('a source of the account itself gets as many as the one that had all', () => {
    const { fill, of } = room(90);
    fill('a', 'attacker', 100);
    fill('a', 'guest', 30);
    fill('a', 'other', 100);
    expect([of('a attacker'), of('a guest'), of('a other')]).toEqual([30, 30, 30]);
  });

  it('the account with the most loses one of its largest source', () => {
    const { fill, of } = room(10);
    fill('a', 'few', 2);
    fill('a', 'many', 8);
    fill('b', 's', 3);
    expect([of('a few'), of('a many'), of('b')]).toEqual([2, 5, 3]);
  });

  it('a place that is given back can be taken', () => {
    const { take, fill, of } = room(2);
    fill('a', 's', 1);
    const leave = take('a', 's');
    expect(take('a', 's')).toBeUndefined();
    leave?.();
    expect(take('a', 't')).toBeDefined();
    expect(of('a')).toBe(2);
  });

  it('are never more than the maximum, and in the end no account could get more by taking one of another', () => {
    const name = fc.constantFrom('a', 'b', 'c', 'd');
    const steps = fc.array(fc.record({ account: name, source: name, leaves: fc.boolean() }), { maxLength: 200 });
    const law = fc.property(steps, fc.integer({ min: 1, max: 20 }), (all, max) => {
      const { take, of } = room(max);
      const accounts = ['a', 'b', 'c', 'd'];
      const total = () => accounts.reduce((sum, account) => sum + of(account), 0);
      for (const { account, source, leaves } of all) {
        const before = of(account);
        const most = Math.max(...accounts.map(of));
        const isFull = total() === max;
        const leave = take(account, source);
        expect(total()).toBeLessThanOrEqual(max);
        if (isFull && before + 2 <= most) expect(leave).toBeDefined();
        if (leaves && leave !== undefined && of(account) > before) leave();
      }
    });
    fc.assert(law, { numRuns: 200 });
  });
});
