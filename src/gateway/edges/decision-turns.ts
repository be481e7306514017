import { FifoQueue, RoundRobin } from './round-robin.js';

/** The longest work in one turn of the event loop, but for the last decision of the turn. */
const MAX_TURN_MS = 1;

type Act = () => void;
type OfHostport = RoundRobin<Act, FifoQueue<Act>>;
type OfAccount = RoundRobin<Act, OfHostport>;

/** What is decided in a turn. New clients and reviews of open connections take turns. */
export interface TurnOf {
  readonly accountId: string;
  readonly hostport: string;
  readonly isReview: boolean;
}

/**
 * Makes decisions by traffic policies, which may take some milliseconds each. The accounts take turns, and so do the
 * hostports within an account. Other work of the gateway goes on after each millisecond.
 */
export class DecisionTurns {
  private readonly queue = new RoundRobin<Act, OfAccount>(
    () => new RoundRobin<Act, OfHostport>(() => new RoundRobin<Act, FifoQueue<Act>>(() => new FifoQueue())),
  );
  private isScheduled = false;

  /** Resolves with undefined if the decision is no longer wanted in its turn. Rejects if `decide` throws. */
  take<Decision>(at: TurnOf, isWanted: () => boolean, decide: () => Decision): Promise<Decision | undefined> {
    return new Promise((resolve, reject) => {
      const act = (): void => {
        try {
          resolve(isWanted() ? decide() : undefined);
        } catch (error) {
          reject(error);
        }
      };
      const ofHostport = this.queue.queueOf(at.accountId).queueOf(at.hostport);
      ofHostport.queueOf(at.isReview ? 'reviews' : 'clients').add(act);
      this.schedule();
    });
  }

  private schedule(): void {
    if (this.isScheduled) return;
    this.isScheduled = true;
    setImmediate(() => {
      this.isScheduled = false;
      this.runSome();
      if (this.queue.size > 0) this.schedule();
    });
  }

  private runSome(): void {
    const end = performance.now() + MAX_TURN_MS;
    do {
      this.queue.next()?.();
    } while (this.queue.size > 0 && performance.now() < end);
  }
}
