import { Turns } from '../protocol/turns.js';
import { FifoQueue, RoundRobin } from './round-robin.js';

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
 * Makes decisions by traffic policies, which may take some milliseconds each. The accounts share the CPU time, and the
 * hostports of an account take turns. Other work of the gateway goes on after each millisecond.
 */
export class DecisionTurns {
  private readonly turns = new Turns();
  /** What each account waits for. */
  private readonly accounts = new Map<string, OfAccount>();

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
      const ofAccount = this.accounts.get(at.accountId) ?? this.begin(at.accountId);
      ofAccount
        .queueOf(at.hostport)
        .queueOf(at.isReview ? 'reviews' : 'clients')
        .add(act);
    });
  }

  private begin(accountId: string): OfAccount {
    const waiting: OfAccount = new RoundRobin(() => new RoundRobin(() => new FifoQueue()));
    this.accounts.set(accountId, waiting);
    const enter = (): void => this.turns.enter({ share: accountId, work });
    const work = (): void => {
      waiting.next()?.();
      if (waiting.size > 0) enter();
      else this.accounts.delete(accountId);
    };
    enter();
    return waiting;
  }
}
