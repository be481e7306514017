import { Counter, Gauge, Histogram, Registry } from 'prom-client';
import { type Decision, REASONS } from './bind-decisions/decision.js';

/** Seconds: from a look-up in an idle database to one that is about to be given up. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** What an operator watches of the gateways' questions, of this copy of the service. */
export class GatewayMetrics {
  private readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly decisions = new Counter({
    name: 'tunnel_access_bind_decisions_total',
    help: 'Decisions about binds, by their reason.',
    labelNames: ['reason'],
    registers: this.registers,
  });
  private readonly seconds = new Histogram({
    name: 'tunnel_access_bind_decision_seconds',
    help: 'From a question to its decisions, without reading the request.',
    buckets: BUCKETS_SECONDS,
    registers: this.registers,
  });
  private readonly refused = new Counter({
    name: 'tunnel_access_bind_decisions_queue_full_total',
    help: 'Questions answered 503 because too many decisions were waiting to be recorded.',
    registers: this.registers,
  });
  private readonly failures = new Counter({
    name: 'tunnel_access_bind_decisions_write_failures_total',
    help: 'Failed attempts to record decisions; each is tried again.',
    registers: this.registers,
  });

  constructor() {
    // From the start, so that a rate is right from the first decision of its kind.
    for (const reason of REASONS) this.decisions.inc({ reason }, 0);
  }

  /** Reads the length of the queue whenever the metrics are read. */
  watchQueue(length: () => number): void {
    new Gauge({
      name: 'tunnel_access_bind_decisions_queued',
      help: 'Decisions that are waiting to be recorded.',
      registers: this.registers,
      collect() {
        this.set(length());
      },
    });
  }

  /** @returns what to call with the decisions once they are made. */
  startDecision(): (decisions: readonly Decision[]) => void {
    const observe = this.seconds.startTimer();
    return (decisions) => {
      observe();
      for (const { reason } of decisions) this.decisions.inc({ reason });
    };
  }

  queueFull(): void {
    this.refused.inc();
  }

  writeFailed(): void {
    this.failures.inc();
  }

  /** In the text format of Prometheus. */
  text(): Promise<string> {
    return this.registry.metrics();
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}
