/** The program of the threads that check-threads.ts starts. */
import { parentPort, workerData } from 'node:worker_threads';
import { type CopiedPart, checkPart } from './copied-events.js';

parentPort?.on('message', (part: CopiedPart) => parentPort?.postMessage(checkPart(workerData, part)));
