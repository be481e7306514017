import { describe, expect, it } from '@jest/globals';
import { pauseAfter, retry } from './retry.js';

class Transient extends Error {}
const isTransient = (error: unknown): boolean => error instanceof Transient;
const fail = async (): Promise<never> => {
  throw new Transient('away');
};

/** Fails so many times, and then returns the number of attempts. */
function failing(times: number): () => Promise<number> {
  let attempts = 0;
  return async () => {
    attempts += 1;
    return attempts > times ? attempts : fail();
  };
}

it('the last pause is repeated', () => {
  expect([1, 2, 3, 4, 50].map((failures) => pauseAfter(failures, [0, 10, 20]))).toEqual([0, 10, 20, 20, 20]);
});

describe('what fails for a while', () => {
  it('is repeated until it succeeds, after at least half of each pause and at most all of it', async () => {
    const pauses: (number | undefined)[] = [];
    const failed = (_: unknown, pauseMs: number | undefined): void => void pauses.push(pauseMs);
    const from = performance.now();
    expect(await retry(failing(4), { pausesMs: [2, 4, 8], isTransient, failed })).toBe(5);
    expect(pauses).toHaveLength(4);
    for (const [n, pauseMs = 0] of pauses.entries()) {
      const planned = pauseAfter(n + 1, [2, 4, 8]);
      expect([pauseMs >= planned / 2, pauseMs <= planned]).toEqual([true, true]);
    }
    // A timer may fire a little early.
    expect(performance.now() - from).toBeGreaterThan(11 - 4);
  });

  it('is repeated no sooner than its failure asks for', async () => {
    const pauses: (number | undefined)[] = [];
    const failed = (_: unknown, pauseMs: number | undefined): void => void pauses.push(pauseMs);
    await retry(failing(1), { pausesMs: [1], isTransient, minPauseMs: () => 30, failed });
    expect(pauses).toEqual([30]);
  });

  it('begins again with the shortest pause after an attempt that worked for a while', async () => {
    const [pauses, stop] = [[] as number[], new AbortController()];
    const failed = (_: unknown, pauseMs = 0): void => {
      if (pauses.push(pauseMs) === 4) stop.abort();
    };
    const attempt = async (succeeded: () => void): Promise<never> => {
      if (pauses.length === 2) succeeded();
      return fail();
    };
    await expect(
      retry(attempt, { pausesMs: [1, 1, 1_000], isTransient, failed, signal: stop.signal }),
    ).rejects.toThrow();
    expect(Math.max(...pauses)).toBeLessThanOrEqual(1);
  });

  it('is not repeated once the next attempt would come after the deadline, and says so', async () => {
    const pauses: (number | undefined)[] = [];
    const failed = (_: unknown, pauseMs: number | undefined): void => void pauses.push(pauseMs);
    const from = performance.now();
    const limits = { pausesMs: [1, 60_000], deadline: from + 1_000, isTransient, failed };
    await expect(retry(fail, limits)).rejects.toThrow('away');
    expect(pauses).toEqual([expect.any(Number), undefined]);
    expect(performance.now() - from).toBeLessThan(1_000);
  });

  it('ends with the error that is thrown when its failure is told', async () => {
    const failed = (): never => {
      throw new Error('gives up');
    };
    await expect(retry(fail, { pausesMs: [1], isTransient, failed })).rejects.toThrow('gives up');
  });

  it('ends at once when the signal aborts, in an attempt and in a pause', async () => {
    const stop = new AbortController();
    const ended = retry(fail, { pausesMs: [3_600_000], isTransient, signal: stop.signal });
    setTimeout(() => stop.abort(), 10);
    await expect(ended).rejects.toThrow('abort');
    await expect(
      retry(fail, { pausesMs: [1], isTransient, signal: AbortSignal.abort(new Error('stop')) }),
    ).rejects.toThrow('stop');
  });
});

it('another failure is not repeated', async () => {
  let attempts = 0;
  const attempt = async (): Promise<never> => {
    attempts += 1;
    throw new TypeError('a bug');
  };
  await expect(retry(attempt, { pausesMs: [1], isTransient })).rejects.toThrow(TypeError);
  expect(attempts).toBe(1);
});
