import { PostgresFailure } from './failure.js';

/** SQLSTATE codes of a `create` that lost a race. The next attempt finds the object. */
const LOST_RACE = new Set(['23505', '42P06', '42P07', '42710', 'XX000']);
const MAX_ATTEMPTS = 10;

/** Runs a `create ... if not exists`, and repeats it if another process created the object at the same moment. */
export async function createMissing(create: () => Promise<unknown>): Promise<void> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      await create();
      return;
    } catch (error) {
      const isLostRace = LOST_RACE.has(PostgresFailure.of(error).sqlState ?? '');
      if (!isLostRace || attempt === MAX_ATTEMPTS) throw error;
    }
  }
}
