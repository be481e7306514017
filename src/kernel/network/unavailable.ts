import type { IncomingHttpHeaders } from 'node:http';

/** A server gives no answer that counts, and may give one later. The message says why. */
export class Unavailable extends Error {
  override name = 'Unavailable';

  constructor(
    message: string,
    /** Undefined if there was no answer. */
    readonly answer?: { readonly status: number; readonly code?: unknown; readonly retryAfterMs?: number },
  ) {
    super(message);
  }
}

/** Statuses that pass by themselves, beside all from 500 on. */
const PASSING: readonly number[] = [408, 425, 429];
export const isPassing = (status: number): boolean => status >= 500 || PASSING.includes(status);

/** A server that names a longer wait is asked again after this one. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Retry-After is a number of seconds, or a date. */
export function retryAfterMsOf({ 'retry-after': text }: IncomingHttpHeaders): number {
  if (text === undefined) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** How `retry` repeats what rejects with Unavailable. */
export const UNTIL_AVAILABLE = {
  mayPass: (error: unknown): boolean => error instanceof Unavailable,
  askedMs: (error: unknown): number => (error instanceof Unavailable ? (error.answer?.retryAfterMs ?? 0) : 0),
};
