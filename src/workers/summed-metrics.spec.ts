import { expect, it } from '@jest/globals';
import { Counter, Registry } from 'prom-client';
import { Channel } from './channel.js';
import { OneOfMany } from './one-of-many.js';
import { SummedMetrics } from './summed-metrics.js';

const NAME = 'a registry';

/** A worker that counted `count`, which it tells when `isReady` resolves. */
function workerOf(metrics: SummedMetrics, count: number, isReady = Promise.resolve()) {
  const registry = new Registry();
  new Counter({ name: 'counted', help: 'Counted.', registers: [registry], collect: () => isReady }).inc(count);
  const pair: Channel[] = [1, 0].map((other) => new Channel((messages) => pair[other]?.receive(messages)));
  const [primary, own] = pair as [Channel, Channel];
  const group = new OneOfMany(own, { number: 1, workers: 2 });
  group.contribute(NAME, registry);
  return { group, end: metrics.serve(primary) };
}

async function sumIn(group: OneOfMany): Promise<unknown> {
  const sums = await group.sum(NAME);
  const { values } = (await sums.getMetricsAsJSON())[0] as { values: { value: number }[] };
  return values[0]?.value;
}

it('what an ended worker had counted stays in the sum', async () => {
  const metrics = new SummedMetrics();
  const [one, two] = [workerOf(metrics, 5), workerOf(metrics, 2)];
  expect(await sumIn(two.group)).toBe(7);
  one.end();
  expect(await sumIn(two.group)).toBe(7);
});

it('a worker that ends while another one is awaited counts once', async () => {
  const metrics = new SummedMetrics();
  let tellSlow = (): void => undefined;
  const isReady = new Promise<void>((resolve) => {
    tellSlow = resolve;
  });
  const [one, slow] = [workerOf(metrics, 5), workerOf(metrics, 2, isReady)];
  const sum = sumIn(slow.group);
  // Messages travel in turns of the event loop: by now the first worker has answered.
  for (let turn = 0; turn < 5; turn += 1) await new Promise(setImmediate);
  one.end();
  tellSlow();
  expect(await sum).toBe(7);
});
