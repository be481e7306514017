/**
 * The first minute of a fresh database: the slowest five seconds of creates while PostgreSQL has no statistics of the growing
 * tables, beside the same load once they are analyzed. The first five seconds are left out: they are those of a cold node.
 */
import autocannon from 'autocannon';
import { middle } from './middle.mjs';
import { newBody } from './new-credential.mjs';
import { API_KEY, onServer, startService } from './programs.mjs';

const GOAL = 0.8;
const WINDOW_SECONDS = 5;
const LENGTHS = { windows: 12, steadyWindows: 4 };
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

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const service = await startService();
  try {
    const [, ...fresh] = await createsPerSecond(service.url, LENGTHS.windows);
    await onServer(service.dataDir, (client) => client.query('vacuum analyze'));
    const steady = middle(await createsPerSecond(service.url, LENGTHS.steadyWindows));
    const ratio = Math.min(...fresh) / steady;
    return [
      {
        what: 'creates in the slowest 5 s of the first minute of a fresh database, against an analyzed one',
        measured: `${ratio.toFixed(2)} (median ${(middle(fresh) / steady).toFixed(2)}; steady ${steady.toFixed(0)}/s)`,
        goal: `>= ${GOAL}`,
        ok: ratio >= GOAL,
      },
    ];
  } finally {
    await service.stop();
    await service.clean();
  }
}
