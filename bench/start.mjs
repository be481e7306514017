/**
 * Measures the time from the start of the program to "ready", on an empty folder and on the data of an earlier start, and
 * the time that a command takes.
 */

import { execFileSync } from 'node:child_process';
import { middle } from './middle.mjs';
import { API_KEY, startService } from './programs.mjs';

const ROUNDS = 5;
const QUICK_ROUNDS = 3;
const CLI = new URL('../dist/src/operator/cli.js', import.meta.url).pathname;

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ quick = false } = {}) {
  const [empty, existing, commands] = [[], [], { '--version': [], '--help': [], 'keys list': [] }];
  for (let round = 0; round < (quick ? QUICK_ROUNDS : ROUNDS); round += 1) {
    const service = await startService({ PORT: '0' });
    empty.push(service.readyMs);
    await service.stop();
    const again = await service.again();
    existing.push(again.readyMs);
    for (const [words, times] of Object.entries(commands)) times.push(timeOf(words.split(' '), again.url));
    await again.stop();
    await service.clean();
  }
  const row = (what, times, goalMs) => ({
    what,
    measured: `${(middle(times) / 1000).toFixed(2)} s (${(Math.min(...times) / 1000).toFixed(2)}-${(Math.max(...times) / 1000).toFixed(2)})`,
    goal: `<= ${goalMs / 1000} s`,
    ok: middle(times) <= goalMs,
  });
  return [
    row('start to ready, empty folder', empty, 5000),
    row('start to ready, existing data', existing, 2000),
    row('tunnel-access --version', commands['--version'], 400),
    row('tunnel-access --help', commands['--help'], 400),
    row('tunnel-access keys list', commands['keys list'], 700),
  ];
}

function timeOf(words, url) {
  const env = { PATH: process.env.PATH, TUNNEL_ACCESS_URL: url, TUNNEL_ACCESS_KEY: API_KEY };
  const start = performance.now();
  execFileSync(process.execPath, [CLI, ...words], { env });
  return performance.now() - start;
}
