import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../error-message.js';
import { OperatorError } from '../../../operator-error.js';
import type { Batch } from './batch.js';
import { webhookHeaders } from './signature.js';

interface RetryTimings {
  /** The wait after the first failure; it doubles with each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
  /** How long one request may take. */
  readonly requestMs: number;
}

const TIMINGS: RetryTimings = { firstMs: 1_000, maxMs: 60_000, requestMs: 30_000 };
/** A collector that names a longer wait is asked again after this one. */
const MAX_RETRY_AFTER_MS = 3_600_000;
const MAX_QUOTED_CHARACTERS = 200;

/** Statuses that pass by themselves, beside all from 500 on. */
const PASSING: readonly number[] = [408, 425, 429];

/** What the operator can do about a status that does not pass. */
const ADVICE: Readonly<Record<number, string>> = {
  401: 'check the secret',
  403: 'check the secret',
  404: 'check the path of --to',
  413: 'choose a smaller --batch',
};

/** The answer to one attempt, or why there was none. */
interface Outcome {
  readonly kind: 'accepted' | 'passing' | 'refused';
  readonly reason: string;
  /** The wait that the collector asks for. */
  readonly retryAfterMs: number;
}

/** An HTTP server that takes batches of CloudEvents. */
export class Collector {
  constructor(
    private readonly url: URL,
    private readonly secrets: readonly Buffer[],
    private readonly report: (line: string) => void,
    private readonly timings: RetryTimings = TIMINGS,
  ) {}

  /** Its address without the query, which may hold a token. */
  get name(): string {
    return `${this.url.origin}${this.url.pathname}`;
  }

  /**
   * Sends a batch until the collector accepts it. Returns false if the signal aborts before that. Throws OperatorError if
   * the collector refuses it for good: to skip it would be a silent loss.
   */
  async deliver(batch: Batch, signal: AbortSignal): Promise<boolean> {
    for (let failures = 0; !signal.aborted; failures += 1) {
      const { kind, reason, retryAfterMs } = await this.attempt(batch, signal);
      if (kind === 'accepted') {
        if (failures > 0) this.report(`${this.name} accepts ${batch.name}`);
        return true;
      }
      if (kind === 'refused') {
        const advice = 'The next run sends them again; none is skipped';
        throw new OperatorError(`${this.name} refuses ${batch.name}: ${reason}. ${advice}`);
      }
      if (signal.aborted) break;
      const waitMs = Math.max(this.backOffMs(failures), retryAfterMs);
      this.report(`${this.name}: ${reason}; ${batch.name} are sent again in ${(waitMs / 1000).toFixed(1)} s`);
      await sleep(waitMs, undefined, { signal }).catch(() => undefined);
    }
    return false;
  }

  private async attempt({ id, body }: Batch, signal: AbortSignal): Promise<Outcome> {
    try {
      const response = await fetch(this.url, {
        method: 'POST',
        // A redirect could lead to a host that the operator does not know.
        redirect: 'manual',
        headers: {
          'content-type': 'application/cloudevents-batch+json',
          'user-agent': 'tunnel-access',
          ...webhookHeaders(id, body, this.secrets),
        },
        body,
        signal: AbortSignal.any([signal, AbortSignal.timeout(this.timings.requestMs)]),
      });
      return outcomeOf(response, await beginningOf(response));
    } catch (error) {
      // The message of `fetch` is "fetch failed"; its cause holds the reason.
      const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
      return { kind: 'passing', reason: messageOf(cause), retryAfterMs: 0 };
    }
  }

  /** With jitter, so that several senders do not come back at the same moment. */
  private backOffMs(failures: number): number {
    return Math.min(this.timings.maxMs, this.timings.firstMs * 2 ** failures) * (0.5 + Math.random() / 2);
  }
}

function outcomeOf({ status, ok, headers }: Response, text: string): Outcome {
  if (ok) return { kind: 'accepted', reason: '', retryAfterMs: 0 };
  const kind = status >= 500 || PASSING.includes(status) ? 'passing' : 'refused';
  const location = headers.get('location');
  const leadsTo = status < 400 && location !== null ? ` ${JSON.stringify(location)}, which is not followed` : '';
  const said = text === '' ? '' : ` ${JSON.stringify(text)}`;
  const advice = ADVICE[status] === undefined ? '' : `: ${ADVICE[status]}`;
  const reason = `it answers ${status}${leadsTo}${said}${advice}`;
  return { kind, reason, retryAfterMs: retryAfterMsOf(headers.get('retry-after')) };
}

/** Retry-After is a number of seconds, or a date. */
function retryAfterMsOf(text: string | null): number {
  if (text === null) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** The beginning of the body. A body that ends is read to its end, so that the connection can be used again. */
async function beginningOf({ body }: Response): Promise<string> {
  let text = '';
  const decoder = new TextDecoder();
  try {
    for await (const chunk of body ?? []) {
      text += decoder.decode(chunk, { stream: true });
      if (text.length > MAX_QUOTED_CHARACTERS) break;
    }
  } catch {
    // The status has arrived, and says it all.
  }
  return text.slice(0, MAX_QUOTED_CHARACTERS).trim();
}
