/**
 * Compares creates in the first minute of a new database, when PostgreSQL has no statistics, with a minute of the same
 * load after the tables are analyzed. It compares the slowest five seconds of each, because a checkpoint or a vacuum
 * can slow down both. The first five seconds are left out, while node is cold.
 */
import autocannon from 'autocannon';
import { middle } from './middle.mjs';
import { newBody } from './new-credential.mjs';
import { API_KEY, onServer, startService } from './programs.mjs';

const GOAL = 0.8;
const WINDOW_SECONDS = 5;
const WINDOWS = 12;
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

const REQUESTS = [
  {
    method: 'POST',
    path: '/ssh_credentials',
    setupRequest: (request) => ({ ...request, body: newBody() }),
  },
];

async function createsPerSecond(url, windows) {
  const rates = [];
  for (let window = 0; window < windows; window += 1) {
    const load = { url, connections: 64, duration: WINDOW_SECONDS, headers: HEADERS, requests: REQUESTS };
    const { requests, non2xx, errors } = await autocannon(load);
    if (non2xx + errors > 0) throw new Error(`${non2xx} refused and ${errors} failed requests`);
    rates.push(requests.average);
  }
  return rates;
}

function figure(which, fresh, steady) {
  return {
    what: `creates in the ${which} 5 s of the first minute of a fresh database, against those of a minute once it is analyzed`,
    measured: `${(fresh / steady).toFixed(2)} (${fresh.toFixed(0)}/s against ${steady.toFixed(0)}/s)`,
    goal: `>= ${GOAL}`,
    ok: fresh / steady >= GOAL,
  };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const service = await startService();
  try {
    const [, ...fresh] = await createsPerSecond(service.url, WINDOWS);
    await onServer(service.dataDir, (client) => client.query('vacuum analyze'));
    const steady = await createsPerSecond(service.url, fresh.length);
    return [
      figure('slowest', Math.min(...fresh), Math.min(...steady)),
      figure('median', middle(fresh), middle(steady)),
    ];
  } finally {
    await service.stop();
    await service.clean();
  }
}
