import { Worker } from 'node:worker_threads';
import { type CheckedPart, CopiedEvents } from './copied-events.js';
import type { KnownTypes } from './event-checks.js';

/** Checks the events of one log, part after part. */
export interface PartChecker {
  check(part: Buffer): Promise<CheckedPart>;
  end(): Promise<unknown>;
}

/** The start of a thread takes as long as the checks of some thousand events. */
const WORTH_A_THREAD = 20_000;

/** `size`: about as many events as the log has. */
export const checkerOf = (size: number, types: KnownTypes): PartChecker =>
  size < WORTH_A_THREAD ? new CheckHere(types) : new CheckThread(types);

class CheckHere implements PartChecker {
  private readonly events: CopiedEvents;

  constructor(types: KnownTypes) {
    this.events = new CopiedEvents(types);
  }

  async check(part: Buffer): Promise<CheckedPart> {
    return this.events.check(part);
  }

  async end(): Promise<void> {}
}

interface Waiting {
  readonly resolve: (checked: CheckedPart) => void;
  readonly reject: (error: Error) => void;
}

/** On a thread of its own: the checks take about nine tenths of the processor time of verify, which reads meanwhile. */
class CheckThread implements PartChecker {
  private readonly worker: Worker;
  /** In the order of the parts. */
  private readonly waiting: Waiting[] = [];
  private failure: Error | undefined;

  constructor(types: KnownTypes) {
    this.worker = new Worker(new URL('./check-worker.js', import.meta.url), { workerData: types });
    this.worker.on('message', (checked: CheckedPart) => this.waiting.shift()?.resolve(checked));
    this.worker.on('error', (error) => this.fail(error));
    this.worker.on('exit', () => this.fail(new Error('the thread that checks events ended')));
  }

  check(part: Buffer): Promise<CheckedPart> {
    return new Promise((resolve, reject) => {
      if (this.failure !== undefined) return reject(this.failure);
      this.waiting.push({ resolve, reject });
      this.worker.postMessage(part);
    });
  }

  end(): Promise<number> {
    return this.worker.terminate();
  }

  private fail(error: Error): void {
    this.failure ??= error;
    for (const { reject } of this.waiting.splice(0)) reject(this.failure);
  }
}
