import { setTimeout as sleep } from 'node:timers/promises';

interface Retry {
  /** The pause after the first failure, after the second one, and so on. The last pause is repeated. */
  readonly pausesMs: readonly number[];
  /** Whether a later attempt may succeed after this failure. */
  readonly isTransient: (error: unknown) => boolean;
  /** Ends the attempts and the pauses. */
  readonly signal?: AbortSignal;
  /** No attempt begins after this time of performance.now(). Absent: there is no such time. */
  readonly deadline?: number | undefined;
  /** The shortest pause that a failure asks for. */
  readonly minPauseMs?: (error: unknown) => number;
  /**
   * Gets each transient failure, and the pause before the next attempt. An undefined pause: it was the last attempt.
   */
  readonly failed?: (error: unknown, pauseMs: number | undefined) => void;
}

/**
 * Repeats an attempt until it succeeds. Rejects with a failure that is not transient or is the last before the
 * deadline, with what `failed` throws, and when the signal aborts. A long attempt calls `succeeded` once it works: if
 * it fails later, the pauses begin again with the first one.
 */
export async function retry<T>(
  attempt: (succeeded: () => void) => Promise<T>,
  { pausesMs, isTransient, signal, deadline = Number.POSITIVE_INFINITY, minPauseMs = () => 0, failed }: Retry,
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
      if (!isTransient(error)) throw error;
      failures += 1;
      // The pause is partly random, so that several programs do not come back at the same moment.
      const pauseMs = Math.max(pauseAfter(failures, pausesMs) * (0.5 + Math.random() / 2), minPauseMs(error));
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
