import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../kernel/error-message.js';
import type { StreamedEvent } from '../../../kernel/network/event-stream.js';
import { retry } from '../../../kernel/network/retry.js';
import { isTransientStatus, UNTIL_AVAILABLE, Unavailable } from '../../../kernel/network/unavailable.js';
import { OperatorError } from '../../../kernel/operator-error.js';
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
const RECORDS = 'GET /tunnel_session_records has what ended';

/** Sends the sessions that open and end to a collector, as batches of CloudEvents. What happens while it is away is lost. */
export class SessionPush {
  private waiting: string[] = [];
  private left = 0;
  private isAway = false;
  /** Ends the one half when the other half has failed. */
  private readonly failure = new AbortController();
  private readonly ending: AbortSignal;

  constructor(
    private readonly api: ServiceApi,
    private readonly collector: Collector,
    private readonly maxEvents: number,
    signal: AbortSignal,
    private readonly report: (line: string) => void,
  ) {
    this.ending = AbortSignal.any([signal, this.failure.signal]);
  }

  /** Ends when the signal aborts. Rejects with OperatorError if the service or the collector refuses it for good. */
  async run(): Promise<void> {
    const unlessEnded = (error: unknown): void => {
      if (this.ending.aborted) return;
      this.failure.abort();
      throw error;
    };
    await Promise.all([this.follow().catch(unlessEnded), this.deliver().catch(unlessEnded)]);
    if (this.waiting.length > 0) this.report(`${this.waiting.length} events were not sent: ${RECORDS}`);
  }

  private async follow(): Promise<void> {
    const failed = (error: unknown): void => {
      if (!this.isAway) this.report(`${this.api.name}: ${messageOf(error)}; asking again until it answers`);
      this.isAway = true;
    };
    const once = async (succeeded: () => void): Promise<never> => {
      await this.api
        .follow(PATH, MAX_SILENCE_MS, this.ending, (event) => this.take(event, succeeded))
        .catch(refuseOther);
      throw new Unavailable('the stream of sessions ended');
    };
    await retry(once, { ...UNTIL_AVAILABLE, pausesMs: PAUSES_MS, signal: this.ending, failed });
  }

  private take({ name, data }: StreamedEvent, succeeded: () => void): void {
    if (name === 'ready') {
      const after = this.isAway ? ` again; what opened or ended meanwhile is not sent: ${RECORDS}` : '';
      this.report(`pushing the sessions that open and end to ${this.collector.name}${after}`);
      this.isAway = false;
      succeeded();
    }
    if (name !== 'opened' && name !== 'ended') return;
    if (this.waiting.length === MAX_WAITING) {
      this.waiting.shift();
      this.left += 1;
    }
    this.waiting.push(cloudEventOf(name, data));
  }

  private async deliver(): Promise<void> {
    for (;;) {
      await sleep(LINGER_MS, undefined, { signal: this.ending });
      if (this.left > 0) this.report(`${this.left} events are lost: ${MAX_WAITING} wait for ${this.collector.name}`);
      this.left = 0;
      const batch = this.waiting.slice(0, this.maxEvents);
      if (batch.length === 0) continue;
      this.waiting = this.waiting.slice(batch.length);
      const [name, ifRefused] = [`${batch.length} events of sessions`, `They are not sent again: ${RECORDS}`];
      const body = `[${batch.join(',')}]`;
      await this.collector.deliver({ id: `sessions_${randomUUID()}`, name, body, ifRefused }, this.ending);
    }
  }
}

/** An answer that asking again does not change. */
function refuseOther(error: unknown): never {
  const status = error instanceof Unavailable ? error.answer?.status : undefined;
  if (status === undefined || isTransientStatus(status)) throw error;
  throw new OperatorError(`${messageOf(error)}; is this the URL of the service, and is it as new as this command?`);
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
