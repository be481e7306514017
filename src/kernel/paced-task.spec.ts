import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from '@jest/globals';
import { PacedTask } from './paced-task.js';

/** Work that is done as soon as the test says so. */
function controlled(pauseFor?: (ms: number) => Promise<unknown>) {
  const done: ((error?: Error) => void)[] = [];
  const work = (): Promise<void> =>
    new Promise((resolve, reject) => done.push((error) => (error === undefined ? resolve() : reject(error))));
  return { task: new PacedTask(work, pauseFor), done };
}

it('what is asked for while it runs is one further run, which begins after the first one', async () => {
  const { task, done } = controlled();
  const first = task.request();
  await sleep(0);
  const others = [task.request(), task.request(), task.request()];
  await sleep(20);
  expect(done).toHaveLength(1);
  done[0]?.();
  await first;
  while (done.length < 2) await sleep(1);
  done[1]?.();
  await Promise.all(others);
  expect(done).toHaveLength(2);
});

it('the next run waits for a pause that grows with the last one', async () => {
  const pauses: number[] = [];
  let end: (() => void) | undefined;
  const { task, done } = controlled((ms) => {
    pauses.push(ms);
    return new Promise<void>((resolve) => {
      end = resolve;
    });
  });
  const first = task.request();
  await sleep(50);
  done[0]?.();
  await first;
  void task.request();
  await sleep(20);
  expect(done).toHaveLength(1);
  expect(pauses[0]).toBeGreaterThan(4 * 45);
  end?.();
  while (done.length < 2) await sleep(1);
});

it('a failure is told to who asked, and the next run begins all the same', async () => {
  const { task, done } = controlled();
  const first = task.request();
  await sleep(0);
  done[0]?.(new Error('away'));
  await expect(first).rejects.toThrow('away');
  const second = task.request();
  while (done.length < 2) await sleep(1);
  done[1]?.();
  await second;
});
