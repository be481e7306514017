import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { EventLoop } from './event-loop.js';

function busyFor(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const times = <T>(count: number, make: (n: number) => T): T[] => Array.from({ length: count }, (_, n) => make(n));

describe('the event loop', () => {
  it('does everything else of the process after a millisecond of pieces', async () => {
    const loop = new EventLoop();
    let done = 0;
    times(100, (n) =>
      loop.enter([`account ${n % 7}`], () => {
        busyFor(0.5);
        done += 1;
      }),
    );
    const seen: number[] = [];
    while (done < 100) {
      const before = done;
      await nextTurn();
      seen.push(done - before);
    }
    expect(Math.max(...seen)).toBeLessThanOrEqual(3);
  });

  it('rests after long work for as long as it took, also if the next one comes later', async () => {
    const loop = new EventLoop();
    let turns = 0;
    let done = 0;
    const piece = (): void => {
      busyFor(20);
      done += 1;
    };
    void loop.run(['a'], piece);
    while (done < 1) await nextTurn();
    void loop.run(['a'], piece);
    void loop.run(['b'], piece);
    for (; done < 3; turns += 1) await nextTurn();
    expect(turns).toBeGreaterThan(20);
  });

  it('does the piece of a neighbour between those of a flood', async () => {
    const loop = new EventLoop();
    const order: string[] = [];
    const flood = (): void => {
      busyFor(0.5);
      order.push('flood');
      if (order.length < 200) loop.enter(['flood'], flood);
    };
    times(20, () => loop.enter(['flood'], flood));
    await nextTurn();
    const before = order.length;
    await loop.run(['neighbour'], () => order.push('neighbour'));
    expect(order.indexOf('neighbour') - before).toBeLessThanOrEqual(2);
  });

  it('lets a piece that fails fail alone, and does none whose client has gone', async () => {
    const loop = new EventLoop();
    const leaving = new AbortController();
    const failing = loop.run(['a'], () => {
      throw new Error('broken');
    });
    let isDone = false;
    const gone = loop.run(['a'], () => (isDone = true), { signal: leaving.signal });
    const next = loop.run(['a'], () => 'done');
    leaving.abort(new Error('gone'));
    await expect(failing).rejects.toThrow('broken');
    await expect(gone).rejects.toThrow('gone');
    expect([await next, isDone]).toEqual(['done', false]);
  });
});
