import type { IncomingHttpHeaders } from 'node:http';

/** A server gives no usable answer now, and may give one later. The message says why. */
export class Unavailable extends Error {
  override name = 'Unavailable';

  constructor(
    message: string,
    /** Undefined if there was no answer. */
    readonly answer?: {
      readonly status: number;
      readonly code?: unknown;
      readonly retryAfterMs?: number;
      /** The item of the request that the server refuses, such as `sessions[3]`. */
      readonly item?: unknown;
    },
  ) {
    super(message);
  }
}

/** Statuses after which a later request may succeed, in addition to all from 500 on. */
const TRANSIENT_STATUSES: readonly number[] = [408, 425, 429];
export const isTransientStatus = (status: number): boolean => status >= 500 || TRANSIENT_STATUSES.includes(status);

/** The longest Retry-After that is obeyed. */
const MAX_RETRY_AFTER_MS = 3_600_000;

/** Retry-After is a number of seconds, or a date. */
export function retryAfterMsOf({ 'retry-after': text }: IncomingHttpHeaders): number {
  if (text === undefined) return 0;
  const ms = /^\d+$/.test(text) ? Number(text) * 1000 : Date.parse(text) - Date.now();
  return Number.isNaN(ms) ? 0 : Math.min(Math.max(ms, 0), MAX_RETRY_AFTER_MS);
}

/** Options with which `retry` repeats an attempt that rejects with Unavailable. */
export const UNTIL_AVAILABLE = {
  isTransient: (error: unknown): boolean => error instanceof Unavailable,
  minPauseMs: (error: unknown): number => (error instanceof Unavailable ? (error.answer?.retryAfterMs ?? 0) : 0),
};
