import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { oneByOne, readBy } from './cursor.js';

async function* batches(): AsyncGenerator<number> {
  yield 1;
  yield 2;
}

describe('work that shares a connection', () => {
  it('runs one after another, in the order in which it came', async () => {
    const run = oneByOne();
    const said: string[] = [];
    const work = (name: string) => async () => {
      said.push(`${name} begins`);
      await setImmediate();
      said.push(`${name} ends`);
    };
    await Promise.all([run(work('a')), run(work('b'))]);
    expect(said).toEqual(['a begins', 'a ends', 'b begins', 'b ends']);
  });

  it('fails with the first failure from then on, so that no later one hides it', async () => {
    const run = oneByOne();
    const first = run(() => Promise.reject(new Error('first')));
    await expect(run(async () => 'later')).rejects.toThrow('first');
    await expect(readBy(run, batches()).next()).rejects.toThrow('first');
    await expect(first).rejects.toThrow('first');
  });

  it('reads every batch', async () => {
    const read: number[] = [];
    for await (const batch of readBy(oneByOne(), batches())) read.push(batch);
    expect(read).toEqual([1, 2]);
  });
});
