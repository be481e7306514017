import { setTimeout as sleep } from 'node:timers/promises';
import { messageOf } from '../../../error-message.js';

/** A server gives no answer that counts, and may give one later. The message says why. */
export class Unavailable extends Error {
  override name = 'Unavailable';

  constructor(
    message: string,
    /** Undefined if there was no answer. */
    readonly answer?: { readonly status: number; readonly code?: unknown; readonly retryAfterMs: number },
  ) {
    super(message);
  }
}

interface HttpRequest {
  readonly method?: 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: string;
}

/** How long a request may take, with what `read` does with its answer. */
interface Limits {
  readonly maxMs: number;
  readonly signal: AbortSignal;
}

/** Sends a request, and reads its answer. Rejects with Unavailable if the answer does not come in time, or breaks off. */
export async function exchange<T>(
  url: URL,
  { headers, ...request }: HttpRequest,
  { maxMs, signal }: Limits,
  read: (response: Response) => Promise<T>,
): Promise<T> {
  // Not AbortSignal.any: in Node 20 a signal that lives as long as the program keeps what each request derives from it.
  const ending = new AbortController();
  const stop = (): void => ending.abort(signal.reason);
  const timer = setTimeout(() => ending.abort(new Error(`no answer within ${maxMs / 1000} s`)), maxMs);
  signal.addEventListener('abort', stop);
  try {
    signal.throwIfAborted();
    // A redirect could lead to a host that the operator does not know.
    const options = { redirect: 'manual', signal: ending.signal } as const;
    const response = await fetch(url, {
      ...request,
      ...options,
      headers: { 'user-agent': 'tunnel-access', ...headers },
    });
    return await read(response);
  } catch (error) {
    signal.throwIfAborted();
    // The message of `fetch` is "fetch failed"; its cause holds the reason.
    throw new Unavailable(messageOf(error instanceof Error && error.cause instanceof Error ? error.cause : error));
  } finally {
    clearTimeout(timer);
    signal.removeEventListener('abort', stop);
  }
}

/** The text of an answer, until that is enough. A body that ends is read to its end, so that the connection can be used again. */
export async function textOf(
  { body }: Response,
  isEnough: (text: string) => boolean,
): Promise<{ text: string; isWhole: boolean }> {
  let text = '';
  const decoder = new TextDecoder();
  for await (const chunk of body ?? []) {
    text += decoder.decode(chunk, { stream: true });
    if (isEnough(text)) return { text, isWhole: false };
  }
  return { text, isWhole: true };
}

/** Statuses that pass by themselves, beside all from 500 on. */
const PASSING: readonly number[] = [408, 425, 429];
export const isPassing = (status: number): boolean => status >= 500 || PASSING.includes(status);

/** A server that names a longer wait is asked again after this one. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Retry-After is a number of seconds, or a date. */
export function retryAfterMsOf({ headers }: Response): number {
  const text = headers.get('retry-after');
  if (text === null) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

export interface Waits {
  /** After the first failure; it doubles with each further one. */
  readonly firstMs: number;
  readonly maxMs: number;
}

/**
 * Attempts it until it ends in another way than with Unavailable. `failed` hears of each failure and of the wait that
 * follows. Rejects when the signal aborts.
 */
export async function retried<T>(
  attempt: () => Promise<T>,
  { firstMs, maxMs }: Waits,
  signal: AbortSignal,
  failed: (failure: Unavailable, waitMs: number) => void,
): Promise<T> {
  for (let backOffMs = firstMs; ; backOffMs = Math.min(maxMs, 2 * backOffMs)) {
    try {
      return await attempt();
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof Unavailable)) throw error;
      // With jitter, so that several programs do not come back at the same moment.
      const waitMs = Math.max(backOffMs * (0.5 + Math.random() / 2), error.answer?.retryAfterMs ?? 0);
      failed(error, waitMs);
      await sleep(waitMs, undefined, { signal });
    }
  }
}
