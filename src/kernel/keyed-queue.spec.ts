import { beforeEach, describe, expect, it } from '@jest/globals';
import { KeyedQueue } from './keyed-queue.js';

/** Work that began and did not end, in the order in which it began. */
let running: { readonly name: string; readonly end: () => void }[];
let queue: KeyedQueue;

beforeEach(() => {
  running = [];
  queue = new KeyedQueue(2);
});

function run(key: string, name: string, signal?: AbortSignal): Promise<void> {
  const work = (): Promise<void> => new Promise((end) => running.push({ name, end }));
  return queue.run(key, work, signal);
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
const names = (): string[] => running.map(({ name }) => name);

async function endFirst(): Promise<void> {
  running.shift()?.end();
  await settled();
}

describe('KeyedQueue', () => {
  it('runs as much of a key at once as it may, and the others in the order of arrival', async () => {
    for (const name of ['a1', 'a2', 'a3', 'a4']) void run('a', name);
    void run('b', 'b1');
    expect([names(), queue.waitingOf('a'), queue.waitingOf('b'), queue.waiting]).toEqual([['a1', 'a2', 'b1'], 2, 0, 2]);
    await endFirst();
    expect(names()).toEqual(['a2', 'b1', 'a3']);
    await endFirst();
    expect([names(), queue.waiting]).toEqual([['b1', 'a3', 'a4'], 0]);
  });

  it('passes over work that gave up while it waited, and rejects it with the reason', async () => {
    const leaving = new AbortController();
    for (const name of ['a1', 'a2']) void run('a', name);
    const left = run('a', 'left', leaving.signal);
    void run('a', 'a3');
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(queue.waitingOf('a')).toBe(1);
    await endFirst();
    expect(names()).toEqual(['a2', 'a3']);
    await expect(run('b', 'late', leaving.signal)).rejects.toThrow('gone');
  });

  it('gives the place of work that failed to the next', async () => {
    const failing = Array.from({ length: 2 }, () => queue.run('a', () => Promise.reject(new Error('failed'))));
    void run('a', 'next');
    for (const failed of failing) await expect(failed).rejects.toThrow('failed');
    expect(names()).toEqual(['next']);
  });
});
