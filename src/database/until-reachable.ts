import { setTimeout as sleep } from 'node:timers/promises';
import { PostgresFailure } from './failure.js';

const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 800;

/**
 * Repeats look-ups with growing pauses while the database is away, for example during a failover. The deadline is a
 * time of performance.now().
 */
export async function untilReachable<T>(deadline: number, lookUp: () => Promise<T>): Promise<T> {
  for (let pauseMs = FIRST_PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS)) {
    try {
      return await lookUp();
    } catch (error) {
      const isLast = performance.now() + pauseMs > deadline;
      if (isLast || !PostgresFailure.of(error).isConnectionLoss) throw error;
      await sleep(pauseMs);
    }
  }
}
