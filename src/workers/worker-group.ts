import type { Registry } from 'prom-client';
import { Places } from './places.js';
import { type WindowCounter, type WindowSource, Windows } from './windows.js';

/** Places that the workers of an instance have together. */
export interface SharedPlaces {
  take(name: string, max: number): boolean | Promise<boolean>;
  giveBack(name: string): void;
}

/**
 * What a worker has in common with the other workers of its instance: the counts behind limits, the metrics, and the
 * times of its background work. Everything else that workers share is in the database.
 */
export abstract class WorkerGroup implements WindowSource {
  abstract windows(limit: string, maxNames: number): WindowCounter;
  /** The places of one limit. */
  abstract places(limit: string): SharedPlaces;
  /** The metrics of this registry, summed over all workers; `name` is the same in each of them. */
  abstract sum(name: string, own: Registry): Promise<Registry>;
  /** Makes the metrics of a registry a part of those sums. */
  abstract contribute(name: string, own: Registry): void;
  /** Milliseconds until this worker's next turn at what the instance does once in `everyMs`. */
  abstract untilTurn(everyMs: number): number;
}

/** The only worker of its instance: it counts for itself, and no call waits. */
export class SingleWorker extends WorkerGroup {
  windows(_limit: string, maxNames: number): Windows {
    return new Windows(maxNames);
  }

  places(): Places {
    return new Places();
  }

  async sum(_name: string, own: Registry): Promise<Registry> {
    return own;
  }

  contribute(): void {}

  untilTurn(everyMs: number): number {
    return everyMs;
  }
}
