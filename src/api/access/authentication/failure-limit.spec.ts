import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { WINDOW_MS, WindowCounter } from '../../../kernel/window-counter.js';
import { FailureLimit } from './failure-limit.js';

/** A limit whose clock the test sets. */
function limitOf(maxPerMinute: number) {
  const clock = { nowMs: 1_000 };
  const windows = new WindowCounter(10_000, () => clock.nowMs);
  return { clock, windows, limit: new FailureLimit(maxPerMinute, windows) };
}

describe('FailureLimit', () => {
  it('passes as many failures as the limit, and gives every further one the end of the window', () => {
    const { clock, limit } = limitOf(3);
    expect([limit.count('a'), limit.count('a'), limit.count('a')]).toEqual([undefined, undefined, undefined]);
    expect(limit.count('a')).toEqual({ retryAfterSeconds: 60, isFirst: true });
    clock.nowMs += 500;
    expect(limit.count('a')).toEqual({ retryAfterSeconds: 60, isFirst: false });
    clock.nowMs += 58_600;
    expect(limit.count('a')).toEqual({ retryAfterSeconds: 1, isFirst: false });
  });

  it('ends exactly at the announced time, after any number of further failures', () => {
    const { clock, limit } = limitOf(1);
    limit.count('a');
    clock.nowMs += 12_345;
    const retryAfterSeconds = limit.count('a')?.retryAfterSeconds ?? 0;
    for (let n = 0; n < 1000; n += 1) limit.count('a');
    clock.nowMs += (retryAfterSeconds - 1) * 1000;
    expect(limit.count('a')).toBeDefined();
    clock.nowMs += 1000;
    expect(limit.count('a')).toBeUndefined();
    expect(limit.count('a')).toEqual({ retryAfterSeconds: 60, isFirst: true });
  });

  it('announces the whole window at its start, whatever the time', async () => {
    fc.assert(
      fc.property(fc.integer({ min: 0, max: 1e9 }), (thousandths) => {
        const { clock, limit } = limitOf(1);
        clock.nowMs = thousandths / 997;
        limit.count('a');
        expect(limit.count('a')?.retryAfterSeconds).toBe(WINDOW_MS / 1000);
      }),
    );
  });

  it('counts each source separately', async () => {
    const { limit } = limitOf(1);
    limit.count('a');
    expect(limit.count('a')).toBeDefined();
    expect(limit.count('b')).toBeUndefined();
  });

  it('of 0 limits and keeps no source', async () => {
    const { windows, limit } = limitOf(0);
    for (let n = 0; n < 1000; n += 1) expect(limit.count('a')).toBeUndefined();
    expect(windows.size).toBe(0);
  });

  it('keeps a fixed number of sources and drops the one with the oldest window', async () => {
    const { clock, windows, limit } = limitOf(1);
    limit.count('a');
    clock.nowMs += 1;
    limit.count('b');
    // Source a begins a new window, so source b is now the oldest.
    clock.nowMs += WINDOW_MS - 1;
    limit.count('a');
    for (let n = 2; n < 10_000; n += 1) limit.count(`source ${n}`);
    expect(windows.size).toBe(10_000);
    limit.count('one more');
    expect(limit.count('a')).toBeDefined();
    expect(limit.count('b')).toBeUndefined();
    for (let n = 0; n < 3 * 10_000; n += 1) limit.count(`other ${n}`);
    expect(windows.size).toBe(10_000);
    expect(limit.count('a')).toBeUndefined();
  });
});
