/** The program of the thread that check-thread.ts starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { CopiedEvents } from './copied-events.js';

const events = new CopiedEvents(workerData);
parentPort?.on('message', (part: Uint8Array) => {
  parentPort?.postMessage(events.check(Buffer.from(part.buffer, part.byteOffset, part.length)));
});
