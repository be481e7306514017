import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { EdgePlaces } from './edge-places.js';

function room(max: number) {
  const places = new EdgePlaces(max);
  const held = new Map<string, number>();
  const change = (name: string, by: number): void => void held.set(name, (held.get(name) ?? 0) + by);
  const dropped: string[] = [];
  const enter = (account: string, source: string, client = '') => {
    const names = [account, `${account} ${source}`];
    const drop = (): void => {
      dropped.push(client);
      for (const name of names) change(name, -1);
    };
    const place = places.take(account, source, { drop });
    if (place !== undefined) for (const name of names) change(name, 1);
    return place;
  };
  const take = (account: string, source: string): (() => void) | undefined => {
    const place = enter(account, source);
    return (
      place &&
      (() => {
        place.leave();
        for (const name of [account, `${account} ${source}`]) change(name, -1);
      })
    );
  };
  const fill = (account: string, source: string, count: number): void => {
    for (let n = 0; n < count; n += 1) take(account, source);
  };
  return { enter, take, fill, dropped, of: (name: string) => held.get(name) ?? 0 };
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

  it('of an account that is full, the client whose end is the oldest loses its place to a newcomer of any source', () => {
    const { enter, dropped } = room(4);
    const [, second, third] = ['one', 'two', 'three', 'four'].map((client) => enter('a', 's', client));
    third?.visitorEnded();
    second?.visitorEnded();
    expect(dropped).toEqual([]);
    for (const source of ['s', 't']) expect(enter('a', source)).toBeDefined();
    expect(dropped).toEqual(['three', 'two']);
    expect(enter('a', 's')).toBeUndefined();
  });

  it('of an account that has to give way, clients that have ended lose theirs first; those of another account do not', () => {
    const { enter, fill, dropped } = room(6);
    enter('b', 's', 'of another account')?.visitorEnded();
    fill('a', 'many', 4);
    enter('a', 'few', 'ended')?.visitorEnded();
    expect(enter('b', 's')).toBeDefined();
    expect(dropped).toEqual(['ended']);
    expect(enter('a', 'few')).toBeDefined();
    expect(dropped).toEqual(['ended', '']);
  });

  it('a client that has ended and is gone takes nobody with it', () => {
    const { enter, dropped } = room(1);
    const place = enter('a', 's');
    place?.visitorEnded();
    place?.leave();
    expect(enter('a', 's')).toBeDefined();
    expect(enter('a', 's')).toBeUndefined();
    expect(dropped).toEqual([]);
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
