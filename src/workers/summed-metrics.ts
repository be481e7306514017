import { AggregatorRegistry, type Registry, type RegistryContentType } from 'prom-client';
import type { Channel } from './channel.js';
import type { MetricsJson } from './one-of-many.js';

/** A worker whose event loop is busy for longer counts with what it said last. */
const MAX_WAIT_MS = 1_000;

/** The types of metrics that only grow: what an ended worker has counted stays counted. */
const GROWING = ['counter', 'histogram'];

/** The metrics of each worker, which the primary collects for whichever worker is asked. */
export class SummedMetrics {
  /** What each worker said last, by the name of the registry. */
  private readonly last = new Map<Channel, Map<string, MetricsJson>>();
  /** The sums of workers that have ended. */
  private readonly ended = new Map<string, MetricsJson>();

  /** Asks a worker from now on. Call the result when the worker has ended. */
  serve(channel: Channel): () => void {
    this.last.set(channel, new Map());
    channel.on('all metrics', (name: string) => this.collect(name));
    return () => this.keep(channel);
  }

  private async collect(name: string): Promise<MetricsJson[]> {
    await Promise.all([...this.last].map(([channel, said]) => this.ask(channel, said, name)));
    // Only now: a worker that ended while others were awaited is in the sums of the ended, and would count twice.
    const living = [...this.last.values()].map((said) => said.get(name) ?? []);
    return [this.ended.get(name) ?? [], ...living];
  }

  private async ask(channel: Channel, said: Map<string, MetricsJson>, name: string): Promise<void> {
    const metrics = await Promise.race([channel.ask<MetricsJson>('metrics', name), silence()]).catch(() => undefined);
    if (metrics !== undefined) said.set(name, metrics);
  }

  private keep(channel: Channel): void {
    const last = this.last.get(channel) ?? new Map<string, MetricsJson>();
    this.last.delete(channel);
    for (const [name, metrics] of last) {
      const growing = metrics.filter(({ type }) => GROWING.includes(String(type)));
      const sums = AggregatorRegistry.aggregate([this.ended.get(name) ?? [], growing]);
      this.ended.set(name, valuesOf(sums));
    }
  }
}

/** An aggregated metric is its values and a function that gets them. A function cannot travel. */
const valuesOf = (sums: Registry<RegistryContentType>): MetricsJson =>
  sums.getMetricsAsArray().map((metric) => JSON.parse(JSON.stringify(metric)));

const silence = (): Promise<undefined> =>
  new Promise((resolve) => {
    setTimeout(() => resolve(undefined), MAX_WAIT_MS).unref();
  });
