import { describe, expect, it } from '@jest/globals';
import { Rate } from './rate.js';

describe('a rate', () => {
  it('lets what was not used in the time of a burst be used at once, and makes what is more wait', () => {
    const rate = new Rate(100, 1_000);
    const waits = Array.from({ length: 150 }, () => rate.take('one'));
    expect(waits.filter((ms) => ms === 0).length).toBeGreaterThanOrEqual(99);
    expect(waits.at(-1)).toBeGreaterThan(400);
    expect(rate.take('other')).toBe(0);
  });

  it('lets nobody wait longer than its maximum, however much others of the name have taken', () => {
    const rate = new Rate(10, 1_000, 5_000);
    for (let n = 0; n < 10_000; n += 1) rate.take('one');
    expect(rate.take('one')).toBeLessThanOrEqual(5_000);
    expect(rate.take('one')).toBeGreaterThan(4_900);
  });

  it('refuses what would have to wait, and takes nothing for it', () => {
    const rate = new Rate(10, 1_000);
    const taken = Array.from({ length: 1_000 }, () => rate.takeAtOnce('one')).filter((isTaken) => isTaken);
    expect(taken.length).toBeGreaterThanOrEqual(10);
    expect(taken.length).toBeLessThan(20);
    expect(rate.take('one')).toBeLessThan(300);
  });

  it('of 0 has no limit, and a name that has paid takes no memory', () => {
    expect(new Rate(0, 1_000).take('one', 1e9)).toBe(0);
    const rate = new Rate(1e9, 0);
    for (let n = 0; n < 100_000; n += 1) rate.take(`name ${n}`);
    const { paidUntil } = rate as unknown as { readonly paidUntil: ReadonlyMap<string, number> };
    expect(paidUntil.size).toBeLessThan(10_000);
  });
});
