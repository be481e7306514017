import { describe, expect, it } from '@jest/globals';
import { Strangers, sourceOf } from './strangers.js';

const times = <T>(count: number, value: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => value(n));

describe('the places for strangers', () => {
  it('take every newcomer; when they are full, the source with most of them loses one', () => {
    const dropped: string[] = [];
    const strangers = new Strangers(10, () => 0.5);
    const take = (source: string) => strangers.take(source, () => dropped.push(source));
    for (const source of [...times(6, () => 'flood'), 'one', 'two', 'three', 'four']) take(source);
    expect(dropped).toEqual([]);
    for (let n = 0; n < 4; n += 1) take(`newcomer ${n}`);
    expect(dropped).toEqual(times(4, () => 'flood'));
  });

  it('let every newcomer in past 500 idle ones of 10 addresses', () => {
    let droppedNewcomers = 0;
    const strangers = new Strangers(500);
    for (let n = 0; n < 500; n += 1) strangers.take(`idle ${n % 10}`, () => undefined);
    for (let n = 0; n < 76; n += 1) strangers.take(`newcomer ${n}`, () => (droppedNewcomers += 1));
    expect(droppedNewcomers).toBe(0);
  });

  it('drop one at random, so that a waiting one cannot know how long it stays', () => {
    const dropped = new Set<number>();
    for (let round = 0; round < 200; round += 1) {
      const strangers = new Strangers(4);
      for (let n = 0; n < 4; n += 1) strangers.take('one', () => dropped.add(n));
      strangers.take('other', () => undefined);
    }
    expect([...dropped].sort()).toEqual([0, 1, 2, 3]);
  });

  it('come back once each', () => {
    let dropped = 0;
    const strangers = new Strangers(2);
    const leave = strangers.take('one', () => (dropped += 1));
    strangers.take('two', () => (dropped += 1));
    leave?.();
    leave?.();
    strangers.take('three', () => (dropped += 1));
    expect(dropped).toBe(0);
    expect(strangers.take('four', () => (dropped += 1))).toBeUndefined();
    expect(dropped).toBe(0);
  });

  it.each([1, 5_000])(
    'are not lost to thousands of clients of %s sources that come back at once: each logs in in its time',
    (sources) => {
      let [now, dropped] = [0, 0];
      const strangers = new Strangers(500, Math.random, () => now);
      const leaving: (() => void)[] = [];
      const come = (n: number): boolean => {
        const leave = strangers.take(`source ${n % sources}`, () => (dropped += 1));
        if (leave !== undefined) leaving.push(leave);
        return leave !== undefined;
      };
      let waiting = times(5_000, (n) => n);
      // Each second 100 clients log in, and all others try again.
      for (; waiting.length > 0 && now < 60_000; now += 1_000) {
        for (const leave of leaving.splice(0, 100)) leave();
        waiting = waiting.filter((n) => !come(n));
      }
      expect([waiting.length, dropped]).toEqual([0, 0]);
    },
  );

  it('go to newcomers after a time, also if their holders of many sources never log in', () => {
    let now = 0;
    const strangers = new Strangers(500, Math.random, () => now);
    for (let n = 0; n < 500; n += 1) strangers.take(`idle ${n}`, () => undefined);
    expect(strangers.take('client', () => undefined)).toBeUndefined();
    now = 10_000;
    expect(strangers.take('client', () => undefined)).toBeDefined();
  });
});

it('a source is an IPv4 address, mapped or not, or a /64 of IPv6', () => {
  expect(sourceOf('::ffff:192.0.2.1')).toBe(sourceOf('192.0.2.1'));
  expect(new Set(times(20, (n) => sourceOf(`2001:db8::${n}`))).size).toBe(1);
  expect(sourceOf('2001:db8:0:1::1')).not.toBe(sourceOf('2001:db8::1'));
  expect(sourceOf('fe80::1%eth0')).toBe(sourceOf('fe80::2'));
  expect([sourceOf('192.0.2.1'), sourceOf('2001:db8::1')]).toEqual(['192.0.2.1', '2001:db8::/64']);
});
