import type { IncomingMessage } from 'node:http';
import { messageOf } from '../../../kernel/error-message.js';
import { type Answer, HttpClient, readAnswer } from '../../../kernel/network/http-client.js';
import { retry } from '../../../kernel/network/retry.js';
import {
  isTransientStatus,
  retryAfterMsOf,
  UNTIL_AVAILABLE,
  Unavailable,
} from '../../../kernel/network/unavailable.js';
import { OperatorError } from '../../../kernel/operator-error.js';
import type { Batch } from './event-feed.js';
import { webhookHeaders } from './signature.js';

interface CollectorTimings {
  readonly pausesMs: readonly number[];
  /** The longest time for one request. */
  readonly requestMs: number;
}

const TIMINGS: CollectorTimings = {
  pausesMs: [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000],
  requestMs: 30_000,
};
const MAX_QUOTED_CHARACTERS = 200;

/** What the operator can do about a status that a repetition does not change. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'check the secret',
  403: 'check the secret',
  404: 'check the path of --to',
  413: 'choose a smaller --batch',
};

const NEXT_RUN = 'The next run sends them again; none is skipped';

/** What is sent in one request. */
type Delivery = Pick<Batch, 'id' | 'name' | 'body'>;

/** An HTTP server that takes batches of CloudEvents. */
export class Collector {
  private readonly http = new HttpClient();

  constructor(
    private readonly url: URL,
    private readonly secrets: readonly Buffer[],
    private readonly report: (line: string) => void,
    private readonly timings: CollectorTimings = TIMINGS,
  ) {}

  /** The URL without the query, which may hold a token. */
  get name(): string {
    return `${this.url.origin}${this.url.pathname}`;
  }

  /**
   * Sends a batch until the collector accepts it. Rejects when the signal aborts, and with OperatorError if the
   * collector refuses the batch for good: to skip it would be a silent loss.
   */
  async deliver(batch: Delivery, signal: AbortSignal): Promise<void> {
    let failures = 0;
    const failed = (error: unknown, pauseMs = 0): void => {
      failures += 1;
      const when = `${batch.name} are sent again in ${(pauseMs / 1000).toFixed(1)} s`;
      this.report(`${this.name}: ${messageOf(error)}; ${when}`);
    };
    const { pausesMs } = this.timings;
    await retry(() => this.attempt(batch, signal), { ...UNTIL_AVAILABLE, pausesMs, signal, failed });
    if (failures > 0) this.report(`${this.name} accepts ${batch.name}`);
  }

  private async attempt({ id, name, body }: Delivery, signal: AbortSignal): Promise<void> {
    const headers = {
      'content-type': 'application/cloudevents-batch+json',
      ...webhookHeaders(id, body, this.secrets),
    };
    const limits = { maxMs: this.timings.requestMs, signal };
    const answer = await this.http.exchange(this.url, { method: 'POST', headers, body }, limits, answerOf);
    const { status, headers: answered } = answer;
    if (status >= 200 && status < 300) return;
    const reason = reasonOf(answer);
    if (isTransientStatus(status)) throw new Unavailable(reason, { status, retryAfterMs: retryAfterMsOf(answered) });
    throw new OperatorError(`${this.name} refuses ${name}: ${reason}. ${NEXT_RUN}`);
  }
}

/** The answer with the beginning of its text. If the text breaks off, the status is enough. */
async function answerOf(answer: IncomingMessage): Promise<Answer> {
  const { statusCode: status = 0, headers } = answer;
  const begun = await readAnswer(answer, ({ length }) => length > MAX_QUOTED_CHARACTERS).catch(() => undefined);
  const text = begun?.text.slice(0, MAX_QUOTED_CHARACTERS).trim() ?? '';
  return { status, headers, text, isWhole: false };
}

function reasonOf({ status, headers: { location }, text }: Answer): string {
  const leadsTo = status < 400 && location !== undefined ? ` ${JSON.stringify(location)}, which is not followed` : '';
  const quoted = text === '' ? '' : ` ${JSON.stringify(text)}`;
  const advice = ADVICE[status] === undefined ? '' : `: ${ADVICE[status]}`;
  return `it answers ${status}${leadsTo}${quoted}${advice}`;
}
