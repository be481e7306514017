import { availableParallelism } from 'node:os';
import { Worker } from 'node:worker_threads';
import { type CheckedPart, type CopiedPart, checkPart } from './copied-events.js';
import type { KnownTypes } from './event-checks.js';

/** Checks the events of one log, part after part. */
export interface PartChecker {
  /** How many parts more to give while one is awaited. */
  readonly ahead: number;
  check(part: CopiedPart): Promise<CheckedPart>;
  end(): Promise<unknown>;
}

/** The start of a thread takes as long as the checks of some thousand events. */
const WORTH_A_THREAD = 20_000;

/** The checks take two to three times the processor time that PostgreSQL takes to send the events: more would wait for it. */
const MAX_THREADS = 2;

/** `size`: about as many events as the log has. */
export const checkerOf = (size: number, types: KnownTypes): PartChecker =>
  size < WORTH_A_THREAD ? new CheckHere(types) : new CheckThreads(types);

class CheckHere implements PartChecker {
  readonly ahead = 1;

  constructor(private readonly types: KnownTypes) {}

  async check(part: CopiedPart): Promise<CheckedPart> {
    return checkPart(this.types, part);
  }

  async end(): Promise<void> {}
}

/** The checks take about three quarters of the processor time of verify. */
class CheckThreads implements PartChecker {
  readonly ahead: number;
  private readonly threads: CheckThread[];
  private parts = 0;

  constructor(types: KnownTypes) {
    const threads = Math.min(MAX_THREADS, availableParallelism());
    this.threads = Array.from({ length: threads }, () => new CheckThread(types));
    // Each has its next part already when it ends one.
    this.ahead = 2 * threads;
  }

  async check(part: CopiedPart): Promise<CheckedPart> {
    const thread = this.threads[this.parts % this.threads.length];
    this.parts += 1;
    if (thread === undefined) throw new Error('no thread checks events');
    return thread.check(part);
  }

  end(): Promise<unknown> {
    return Promise.all(this.threads.map((thread) => thread.end()));
  }
}

interface Waiting {
  readonly resolve: (checked: CheckedPart) => void;
  readonly reject: (error: Error) => void;
}

class CheckThread {
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

  check(part: CopiedPart): Promise<CheckedPart> {
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
