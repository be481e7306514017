import { FairQueue } from './fair-queue.js';
import { Places } from './places.js';

interface Limits {
  /** The word for the work in messages, such as `audit reads`. */
  readonly noun: string;
  /** How many pieces may run at once, for all accounts together and for one. */
  readonly atOnce: number;
  /** Absent: an account may have all places while no other one waits. */
  readonly atOnceOfAccount?: number;
  /** How many may wait, for all accounts together and for one. Absent: any number. */
  readonly waiting?: number;
  readonly waitingOfAccount?: number;
}

/** Runs a limited number of pieces of work at once. Of those that wait, the account whose work took least goes first. */
export class LimitedWork {
  private readonly running: Places;
  private readonly places: Places;
  private readonly queue = new FairQueue<() => Promise<void>>();

  constructor(private readonly limits: Limits) {
    const { atOnce, atOnceOfAccount = atOnce, waiting = Infinity, waitingOfAccount = Infinity } = limits;
    this.running = new Places([atOnce, atOnceOfAccount]);
    this.places = new Places([waiting, waitingOfAccount]);
  }

  /** The number of pieces that have not begun. */
  get waiting(): number {
    return this.queue.size;
  }

  /** Throws Problem 429 if too much work of the account waits, and 503 if too much work of all accounts waits. */
  refuseIfFull(account: string): void {
    const { noun } = this.limits;
    const own = `The account already has ${this.places.held(account)} ${noun} waiting on this instance`;
    const all = `Too many ${noun} are waiting. Try again shortly.`;
    this.places.refuseIfFull([account], `${own}; send fewer at once.`, all);
  }

  /** Rejects with the signal's reason if the signal aborts before the work begins. */
  run<T>(account: string, work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      this.places.take([account]);
      const begin = async (): Promise<void> => {
        waitNoLonger();
        try {
          resolve(await work());
        } catch (error) {
          reject(error);
        }
      };
      const leave = this.queue.enter([account], begin);
      const giveUp = (): void => {
        leave();
        waitNoLonger();
        reject(signal?.reason);
      };
      const waitNoLonger = (): void => {
        signal?.removeEventListener('abort', giveUp);
        this.places.giveBack([account]);
      };
      signal?.addEventListener('abort', giveUp);
      this.beginNext();
    });
  }

  private beginNext(): void {
    for (;;) {
      const next = this.queue.next((account) => this.running.fullAt([account]) === undefined);
      if (next === undefined) return;
      const begun = performance.now();
      this.running.take([next.account]);
      void next.item().finally(() => {
        this.running.giveBack([next.account]);
        next.done(performance.now() - begun);
        this.beginNext();
      });
    }
  }
}
