import { setTimeout as sleep } from 'node:timers/promises';

interface Retry {
  /** What is waited after the first failure, after the second one, and so on. The last one is repeated. */
  readonly pausesMs: readonly number[];
  /** Whether a later attempt may succeed after this failure. */
  readonly mayPass: (error: unknown) => boolean;
  /** Ends the attempts and the pauses. */
  readonly signal?: AbortSignal;
  /** A time of performance.now(), after which no attempt is repeated. Absent: there is no such time. */
  readonly deadline?: number | undefined;
  /** The shortest pause that a failure asks for. */
  readonly askedMs?: (error: unknown) => number;
  /** Hears of each failure that may pass, and of the pause before the next attempt. Undefined: it was the last attempt. */
  readonly failed?: (error: unknown, pauseMs: number | undefined) => void;
}

/**
 * Repeats an attempt until it succeeds. Rejects with the failure that does not pass or is the last before the deadline,
 * with what `failed` throws, and when the signal aborts. An attempt that is well under way calls `succeeded`: if it
 * fails after all, the pauses begin anew.
 */
export async function retry<T>(
  attempt: (succeeded: () => void) => Promise<T>,
  { pausesMs, mayPass, signal, deadline = Number.POSITIVE_INFINITY, askedMs = () => 0, failed }: Retry,
): Promise<T> {
  let failures = 0;
  const succeeded = (): void => {
    failures = 0;
  };
  for (;;) {
    try {
      return await attempt(succeeded);
    } catch (error) {
      signal?.throwIfAborted();
      if (!mayPass(error)) throw error;
      failures += 1;
      // With jitter, so that several programs do not come back at the same moment.
      const pauseMs = Math.max(pauseAfter(failures, pausesMs) * (0.5 + Math.random() / 2), askedMs(error));
      const isLast = performance.now() + pauseMs > deadline;
      failed?.(error, isLast ? undefined : pauseMs);
      if (isLast) throw error;
      await sleep(pauseMs, undefined, { signal });
    }
  }
}

/** The pause after so many failures, one or more. */
export const pauseAfter = (failures: number, pausesMs: readonly number[]): number =>
  pausesMs[Math.min(failures, pausesMs.length) - 1] ?? 0;
