/**
 * Measures the time from the start of the program to "ready", on an empty folder and on the data of an earlier start.
 */

import { middle } from './middle.mjs';
import { startService } from './programs.mjs';

const ROUNDS = 5;
const QUICK_ROUNDS = 3;

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ quick = false } = {}) {
  const [empty, existing] = [[], []];
  for (let round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round += 1) {
    const service = await startService({ PORT: '0' });
    empty.push(service.readyMs);
    await service.stop();
    const again = await service.again();
    existing.push(again.readyMs);
    await again.stop();
    await service.clean();
  }
  const row = (what, times, goalMs) => ({
    what,
    measured: `${(middle(times) / 1000).toFixed(2)} s (${(Math.min(...times) / 1000).toFixed(2)}-${(Math.max(...times) / 1000).toFixed(2)})`,
    goal: `<= ${goalMs / 1000} s`,
    ok: middle(times) <= goalMs,
  });
  return [row('start to ready, empty folder', empty, 5000), row('start to ready, existing data', existing, 2000)];
}
