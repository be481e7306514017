import { retry } from '../kernel/network/retry.js';
import { PostgresFailure } from './failure.js';

const PAUSES_MS = [50, 100, 200, 400, 800];

/**
 * Repeats a look-up with growing pauses while the database is not reachable, for example during a failover. `deadline`
 * is a time of performance.now().
 */
export const untilReachable = <T>(deadline: number, lookUp: () => Promise<T>): Promise<T> =>
  retry(lookUp, {
    pausesMs: PAUSES_MS,
    deadline,
    isTransient: (error) => PostgresFailure.of(error).isConnectionLoss,
  });
