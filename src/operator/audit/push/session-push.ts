import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../kernel/error-message.js';
import { retry } from '../../../kernel/network/retry.js';
import { UNTIL_AVAILABLE, Unavailable } from '../../../kernel/network/unavailable.js';
import type { StreamEvent } from '../http/event-stream.js';
import type { ServiceApi } from '../http/service-api.js';
import type { Collector } from './collector.js';

const PATH = 'tunnel_sessions/changes';
/** Three heartbeats of the service. */
const MAX_SILENCE_MS = 15_000;
const PAUSES_MS = [500, 1_000, 2_000, 5_000];
/** How long an event waits for others of its batch. */
const LINGER_MS = 200;
/** How many events wait for a collector that is away. */
const MAX_WAITING = 10_000;

/** Sends the sessions that open and end to a collector, as batches of CloudEvents. What happens while it is away is lost. */
export class SessionPush {
  private waiting: string[] = [];
  private left = 0;

  constructor(
    private readonly api: ServiceApi,
    private readonly collector: Collector,
    private readonly maxEvents: number,
    private readonly signal: AbortSignal,
    private readonly report: (line: string) => void,
  ) {}

  /** Ends when the signal aborts. Rejects with OperatorError if the service or the collector refuses it for good. */
  async run(): Promise<void> {
    try {
      await Promise.all([this.follow(), this.deliver()]);
    } catch (error) {
      if (!this.signal.aborted) throw error;
    }
  }

  private async follow(): Promise<void> {
    const { signal } = this;
    const failed = (error: unknown): void => {
      this.report(`${this.api.name}: ${messageOf(error)}; sessions that end before it answers again are not sent`);
    };
    const once = async (): Promise<never> => {
      await this.api.follow(PATH, MAX_SILENCE_MS, signal, (event) => this.take(event));
      throw new Unavailable('the stream of sessions ended');
    };
    await retry(once, { ...UNTIL_AVAILABLE, pausesMs: PAUSES_MS, signal, failed });
  }

  private take({ name, data }: StreamEvent): void {
    if (name === 'ready') this.report(`pushing the sessions that open and end to ${this.collector.name}`);
    if (name !== 'opened' && name !== 'ended') return;
    if (this.waiting.length === MAX_WAITING) {
      this.waiting.shift();
      this.left += 1;
    }
    this.waiting.push(cloudEventOf(name, data));
  }

  private async deliver(): Promise<void> {
    for (;;) {
      await sleep(LINGER_MS, undefined, { signal: this.signal });
      if (this.left > 0) this.report(`${this.left} events are lost: ${MAX_WAITING} wait for ${this.collector.name}`);
      this.left = 0;
      const batch = this.waiting.splice(0, this.maxEvents);
      if (batch.length === 0) continue;
      const name = `${batch.length} events of sessions`;
      await this.collector.deliver({ id: `sessions_${randomUUID()}`, name, body: `[${batch.join(',')}]` }, this.signal);
    }
  }
}

function cloudEventOf(name: 'opened' | 'ended', text: string): string {
  const data = JSON.parse(text) as Readonly<Record<string, string>>;
  return JSON.stringify({
    specversion: '1.0',
    id: `${data.session_id}-${name}-${data.ended_at ?? data.started_at}`,
    source: `/accounts/${data.account_id}`,
    type: `tunnel_session.${name}`,
    subject: data.session_id,
    time: data.ended_at ?? data.started_at,
    datacontenttype: 'application/json',
    data,
  });
}
