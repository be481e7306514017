import { OperatorError } from '../../../operator-error.js';
import { exchange, isPassing, retried, retryAfterMsOf, textOf, Unavailable, type Waits } from '../http/exchange.js';
import type { Batch } from './log-reader.js';
import { webhookHeaders } from './signature.js';

interface CollectorTimings extends Waits {
  /** How long one request may take. */
  readonly requestMs: number;
}

const TIMINGS: CollectorTimings = { firstMs: 1_000, maxMs: 60_000, requestMs: 30_000 };
const MAX_QUOTED_CHARACTERS = 200;

/** What the operator can do about a status that does not pass. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'check the secret',
  403: 'check the secret',
  404: 'check the path of --to',
  413: 'choose a smaller --batch',
};

/** An HTTP server that takes batches of CloudEvents. */
export class Collector {
  constructor(
    private readonly url: URL,
    private readonly secrets: readonly Buffer[],
    private readonly report: (line: string) => void,
    private readonly timings: CollectorTimings = TIMINGS,
  ) {}

  /** Its address without the query, which may hold a token. */
  get name(): string {
    return `${this.url.origin}${this.url.pathname}`;
  }

  /**
   * Sends a batch until the collector accepts it. Rejects when the signal aborts, and with OperatorError if the collector
   * refuses the batch for good: to skip it would be a silent loss.
   */
  async deliver(batch: Batch, signal: AbortSignal): Promise<void> {
    let failures = 0;
    const attempt = (): Promise<void> => this.attempt(batch, signal);
    await retried(attempt, this.timings, signal, ({ message }, waitMs) => {
      failures += 1;
      this.report(`${this.name}: ${message}; ${batch.name} are sent again in ${(waitMs / 1000).toFixed(1)} s`);
    });
    if (failures > 0) this.report(`${this.name} accepts ${batch.name}`);
  }

  private async attempt({ id, name, body }: Batch, signal: AbortSignal): Promise<void> {
    const headers = {
      'content-type': 'application/cloudevents-batch+json',
      ...webhookHeaders(id, body, this.secrets),
    };
    const limits = { maxMs: this.timings.requestMs, signal };
    const { response, text } = await exchange(this.url, { method: 'POST', headers, body }, limits, answerOf);
    if (response.ok) return;
    const reason = reasonOf(response, text);
    const { status } = response;
    if (isPassing(status)) throw new Unavailable(reason, { status, retryAfterMs: retryAfterMsOf(response) });
    throw new OperatorError(`${this.name} refuses ${name}: ${reason}. The next run sends them again; none is skipped`);
  }
}

/** The answer with the beginning of its text. If that breaks off, the status has arrived, and says it all. */
async function answerOf(response: Response): Promise<{ response: Response; text: string }> {
  const begun = await textOf(response, ({ length }) => length > MAX_QUOTED_CHARACTERS).catch(() => ({ text: '' }));
  return { response, text: begun.text.slice(0, MAX_QUOTED_CHARACTERS).trim() };
}

function reasonOf({ status, headers }: Response, text: string): string {
  const location = headers.get('location');
  const leadsTo = status < 400 && location !== null ? ` ${JSON.stringify(location)}, which is not followed` : '';
  const said = text === '' ? '' : ` ${JSON.stringify(text)}`;
  const advice = ADVICE[status] === undefined ? '' : `: ${ADVICE[status]}`;
  return `it answers ${status}${leadsTo}${said}${advice}`;
}
