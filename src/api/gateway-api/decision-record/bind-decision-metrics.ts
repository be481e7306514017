import { Counter, Histogram, Registry } from 'prom-client';
import type { Gateway } from '../../../kernel/caller.js';
import { readGauges } from '../../instance/read-gauges.js';
import { type BindDecision, REASONS, type Reason } from '../decisions/bind-decision.js';

const DECISIONS = 'tunnel_access_bind_decisions_total';
/** In seconds: from a look-up in an idle database to one that is about to time out. */
const BUCKETS_SECONDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/** The metrics of the decisions of this instance. */
export class BindDecisionMetrics {
  readonly registry = new Registry();
  private readonly registers = [this.registry];
  private readonly decisions = new Counter({
    name: DECISIONS,
    help: 'Bind decisions, by reason and, if the token has a name, by gateway.',
    labelNames: ['reason', 'gateway'],
    registers: this.registers,
  });
  private readonly seconds = new Histogram({
    name: 'tunnel_access_bind_decision_seconds',
    help: 'Seconds from reading an authorize request to its decisions.',
    buckets: BUCKETS_SECONDS,
    registers: this.registers,
  });
  private readonly refused = new Counter({
    name: 'tunnel_access_bind_decisions_queue_full_total',
    help: 'Authorize requests answered 503 because too many decisions were waiting to be recorded.',
    registers: this.registers,
  });
  private readonly failures = new Counter({
    name: 'tunnel_access_bind_decisions_write_failures_total',
    help: 'Failed attempts to record decisions; each is retried.',
    registers: this.registers,
  });

  /** Read each time the metrics are read. Without gateways there is no queue. */
  private queueLength = (): number => 0;

  private doubledKeys = (): number | undefined => undefined;

  /** The label has no values but the names of these gateways. */
  constructor(gateways: readonly Gateway[]) {
    // A rate is wrong if a counter appears only with its first decision, so every reason starts at 0.
    for (const gateway of [{}, ...gateways]) this.count(gateway, 0, REASONS);
    const gauge = readGauges(this.registry);
    gauge('tunnel_access_bind_decisions_queued', 'Decisions that are waiting to be recorded.', () =>
      this.queueLength(),
    );
    gauge('tunnel_access_doubled_keys', 'Keys that are live from two sources.', () => this.doubledKeys());
  }

  watchDoubledKeys(count: () => number | undefined): void {
    this.doubledKeys = count;
  }

  watchQueue(length: () => number): void {
    this.queueLength = length;
  }

  /** @returns a function to call with the decisions, which stops the timer and counts them. */
  startTimer(): (decisions: readonly BindDecision[], gateway: Gateway) => void {
    const observe = this.seconds.startTimer();
    return (decisions, gateway) => {
      observe();
      this.count(
        gateway,
        1,
        decisions.map(({ reason }) => reason),
      );
    };
  }

  /** Without a name the series has no label `gateway`. */
  private count({ name }: Gateway, by: number, reasons: readonly Reason[]): void {
    const label = name === undefined ? {} : { gateway: name };
    for (const reason of reasons) this.decisions.inc({ reason, ...label }, by);
  }

  queueFull(): void {
    this.refused.inc();
  }

  writeFailed(): void {
    this.failures.inc();
  }

  /** In the text format of Prometheus. A gateway of one account sees its own decisions: all else is about other accounts. */
  async textFor({ name, accountId }: Gateway): Promise<string> {
    if (accountId === undefined) return this.registry.metrics();
    const lines = (await this.registry.getSingleMetricAsString(DECISIONS)).trimEnd().split('\n');
    const isOwn = (line: string): boolean => line.startsWith('#') || line.includes(`,gateway="${name}"}`);
    return `${lines.filter(isOwn).join('\n')}\n`;
  }

  get contentType(): string {
    return this.registry.contentType;
  }
}
