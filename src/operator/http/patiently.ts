import { messageOf } from '../../kernel/error-message.js';
import { retry } from '../../kernel/network/retry.js';
import { UNTIL_AVAILABLE } from '../../kernel/network/unavailable.js';
import { OperatorError } from '../../kernel/operator-error.js';

/** The pauses between requests to a service that does not answer. */
export const PAUSES_MS: readonly number[] = [1_000, 2_000, 4_000, 8_000, 10_000];
/** How long a command that should end waits for a service that does not answer. */
export const MAX_AWAY_MS = 30_000;

export interface Patience {
  /** The name of the service in messages. */
  readonly name: string;
  /** What it does not do now. Absent: it gives no events. */
  readonly lack?: string;
  readonly report: (line: string) => void;
  readonly signal?: AbortSignal | undefined;
  readonly pausesMs?: readonly number[];
  /** Undefined: for ever. */
  readonly maxAwayMs: number | undefined;
}

/** Repeats a question until the service answers. Says once that it waits, and once that it goes on. */
export async function patiently<T>(
  ask: () => Promise<T>,
  { name, lack = 'gives no events', report, signal, pausesMs = PAUSES_MS, maxAwayMs }: Patience,
): Promise<T> {
  let wasAway = false;
  const failed = (error: unknown, pauseMs: number | undefined): void => {
    const what = `${name} ${lack}: ${messageOf(error)}`;
    if (pauseMs === undefined) throw new OperatorError(`${what}. Try again when it does`);
    if (!wasAway) report(`${what}; asking again until it does`);
    wasAway = true;
  };
  const deadline = maxAwayMs === undefined ? undefined : performance.now() + maxAwayMs;
  const limits = { ...UNTIL_AVAILABLE, pausesMs, deadline, failed, ...(signal !== undefined && { signal }) };
  const answer = await retry(ask, limits);
  if (wasAway) report(`${name} answers again`);
  return answer;
}
