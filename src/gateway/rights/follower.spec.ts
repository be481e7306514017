import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { ServiceEvent } from '../event-stream.js';
import { Follower } from './follower.js';

/** What happened, in order. */
let told: string[];
let openedAt: number[];
let recheck: () => Promise<void>;
let open: (signal: AbortSignal, tell: (event: ServiceEvent) => void) => Promise<void>;
let follower: Follower;
beforeEach(() => {
  [told, openedAt, recheck] = [[], [], async () => undefined];
  follower = new Follower(
    (signal, tell) => {
      told.push('open');
      openedAt.push(performance.now());
      return open(signal, tell);
    },
    {
      recheck: () => recheck(),
      changed: async (data) => void told.push(`changed ${data}`),
      reserved: async (data) => {
        told.push(`reserved ${data}`);
        if (data === 'fails') throw new Error('no answer');
      },
      followed: () => void told.push('followed'),
      lost: (reason) => void told.push(`lost: ${(reason as Error).message}`),
    },
  );
});
afterEach(() => follower.stop());

const READY = { name: 'ready', data: undefined } as const;
const untilAborted = async (signal: AbortSignal): Promise<never> => {
  await once(signal, 'abort');
  throw signal.reason;
};
/** The times between the first attempts. */
async function gapsOf(attempts: number): Promise<readonly number[]> {
  while (openedAt.length < attempts) await sleep(5);
  return openedAt.slice(1, attempts).map((at, n) => at - (openedAt[n] ?? 0));
}

describe('a stream of changes', () => {
  it('is followed once what is held was rechecked, and its changes are told meanwhile', async () => {
    recheck = () => sleep(20);
    open = (signal, tell) => {
      tell(READY);
      tell({ name: 'changed', data: 1 });
      return untilAborted(signal);
    };
    await follower.start();
    expect(told).toEqual(['open', 'changed 1', 'followed']);
  });

  it('tells each event by its name, and passes over one that it does not know', async () => {
    open = (signal, tell) => {
      tell(READY);
      tell({ name: 'reserved', data: 'a.test:1' });
      tell({ name: 'note' as 'changed', data: 1 });
      tell({ name: 'stopped', data: 2 });
      return untilAborted(signal);
    };
    await follower.start();
    expect(told).toEqual(['open', 'reserved a.test:1', 'followed']);
  });

  it('begins anew when what was reserved could not be asked about', async () => {
    open = (signal, tell) => {
      tell(READY);
      if (openedAt.length === 1) tell({ name: 'reserved', data: 'fails' });
      return untilAborted(signal);
    };
    await follower.start();
    await gapsOf(2);
    expect(told).toEqual(expect.arrayContaining(['reserved fails', 'lost: no answer']));
  });

  it('begins anew when a question has no answer, and an answer that comes after the break counts for nothing', async () => {
    const late: (() => void)[] = [];
    recheck = () => new Promise((resolve) => void late.push(resolve));
    open = (signal, tell) => {
      tell(READY);
      return untilAborted(signal);
    };
    const started = follower.start();
    follower.fail(new Error('no answer'));
    await started;
    expect(told).toEqual(['open', 'lost: no answer']);
    while (late.length < 2) await sleep(10);
    late[0]?.();
    await sleep(10);
    expect(told).not.toContain('followed');
    late[1]?.();
    await sleep(10);
    expect(told.at(-1)).toBe('followed');
  });

  it('that always ends at once is opened again after a pause, which does not grow if it was followed', async () => {
    open = async (_, tell) => {
      tell(READY);
      await sleep(1);
    };
    void follower.start();
    const gaps = await gapsOf(7);
    expect(told.slice(0, 3)).toEqual(['open', 'followed', 'lost: the stream of changes ended']);
    expect(Math.min(...gaps)).toBeGreaterThan(45);
    expect(Math.min(...gaps.slice(3))).toBeLessThan(400);
  });

  it('that cannot be opened is tried less and less often, and a stop ends the pause', async () => {
    open = async () => {
      throw new Error('away');
    };
    await follower.start();
    const gaps = await gapsOf(4);
    expect(gaps.map((ms, n) => ms > 45 * 2 ** n)).toEqual([true, true, true]);
    const from = performance.now();
    await follower.stop();
    expect(performance.now() - from).toBeLessThan(300);
  });
});
