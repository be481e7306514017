import { AggregatorRegistry, type Registry } from 'prom-client';
import type { Channel } from './channel.js';
import type { WindowCounter } from './windows.js';
import { type SharedPlaces, WorkerGroup } from './worker-group.js';

/** The metrics of a registry, as they travel between processes. */
export type MetricsJson = Awaited<ReturnType<Registry['getMetricsAsJSON']>>;

/** The place of a worker among those of its instance; the numbers begin with 1. */
export interface WorkerPlace {
  readonly number: number;
  readonly workers: number;
}

/** A worker beside others: it asks the primary, which counts for all. Only what is limited asks. */
export class OneOfMany extends WorkerGroup {
  private readonly registries = new Map<string, Registry>();

  constructor(
    private readonly channel: Channel,
    private readonly place: WorkerPlace,
  ) {
    super();
    channel.on('metrics', async (name: string) => (await this.registries.get(name)?.getMetricsAsJSON()) ?? []);
  }

  windows(limit: string, maxNames: number): WindowCounter {
    return { count: (name) => this.channel.ask('count', { limit, maxNames, name }) };
  }

  places(limit: string): SharedPlaces {
    return {
      take: (name, max) => this.channel.ask('take', { name: `${limit} ${name}`, max }),
      giveBack: (name) => this.channel.tell('give back', `${limit} ${name}`),
    };
  }

  contribute(name: string, own: Registry): void {
    this.registries.set(name, own);
  }

  /** With the counters of workers that have ended: without them the sums would fall, and a rate would see a restart. */
  async sum(name: string): Promise<Registry> {
    return AggregatorRegistry.aggregate(await this.channel.ask<MetricsJson[]>('all metrics', name));
  }

  /** Turns follow the clock, so that they stay apart: the same moments in every worker, one worker at a time. */
  untilTurn(everyMs: number): number {
    const { number, workers } = this.place;
    const roundMs = everyMs * workers;
    return roundMs - ((Date.now() - number * everyMs) % roundMs);
  }
}
