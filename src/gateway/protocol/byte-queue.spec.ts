import { expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ByteQueue } from './byte-queue.js';

it('gives back every byte in its order, whatever the sizes and the moments', () => {
  const step = fc.oneof(fc.uint8Array({ maxLength: 9_000 }), fc.constant(undefined));
  fc.assert(
    fc.property(fc.array(step, { maxLength: 200 }), (steps) => {
      const queue = new ByteQueue();
      const [put, got]: [Buffer[], Buffer[]] = [[], []];
      for (const data of steps) {
        if (data === undefined) got.push(queue.shift() ?? Buffer.alloc(0));
        else {
          put.push(Buffer.from(data));
          queue.append(Buffer.from(data));
        }
        expect(queue.length).toBe(sizeOf(put) - sizeOf(got));
      }
      for (let part = queue.shift(); part !== undefined; part = queue.shift()) got.push(part);
      expect(Buffer.concat(got).equals(Buffer.concat(put))).toBe(true);
    }),
  );
});

it('takes about their size for a million parts of one byte', () => {
  const queue = new ByteQueue();
  const before = process.memoryUsage();
  for (let n = 0; n < 1_000_000; n += 1) queue.append(Buffer.from([n & 0xff]));
  const after = process.memoryUsage();
  expect(after.heapUsed + after.arrayBuffers - before.heapUsed - before.arrayBuffers).toBeLessThan(60_000_000);
  let parts = 0;
  while (queue.shift() !== undefined) parts += 1;
  expect(parts).toBeLessThan(100);
});

const sizeOf = (parts: readonly Buffer[]): number => parts.reduce((sum, { length }) => sum + length, 0);
