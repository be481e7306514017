/**
 * Compares the whole log over HTTP with the same SELECT through psql, and a GET as of a position with a plain GET. It
 * needs psql. `node bench/feed.mjs 100000` uses a log of another size.
 */
import { pathToFileURL } from 'node:url';
import autocannon from 'autocannon';
import { findRunningPostgres } from '../dist/src/database/embedded/embedded-postgres.js';
import { EVENT_COLUMNS } from '../dist/src/event-log/read/recorded-event.js';
import { BENCH_KEY, openBenchAccount } from './bench-account.mjs';
import { ACCOUNT, writeManyEvents } from './many-events.mjs';
import { middle } from './middle.mjs';
import { onServer, psqlMs, residentMb, startService } from './programs.mjs';

const EVENTS = 1_000_000;
const ROUNDS = 3;
const SECONDS = 4;
const AUTHORIZATION = { authorization: `Bearer ${BENCH_KEY}` };

const range = (numbers) => `${Math.min(...numbers).toFixed(2)}-${Math.max(...numbers).toFixed(2)}`;

async function readLines(url, path = '/events') {
  const start = performance.now();
  const response = await fetch(url + path, { headers: { ...AUTHORIZATION, accept: 'application/x-ndjson' } });
  let lines = 0;
  for await (const chunk of response.body) {
    for (let at = chunk.indexOf(10); at !== -1; at = chunk.indexOf(10, at + 1)) lines += 1;
  }
  return { ms: performance.now() - start, lines };
}

const readByPsql = (server) =>
  psqlMs(server, `select ${EVENT_COLUMNS}, e.data from events e where account_id = '${ACCOUNT}' order by position`);

async function requestsPerSecond(url) {
  const { requests, non2xx } = await autocannon({ url, duration: SECONDS, connections: 64, headers: AUTHORIZATION });
  if (non2xx > 0) throw new Error(`${non2xx} refused requests: this measures the wrong thing`);
  return requests.average;
}

async function compareLines(url, server, events) {
  const [ratios, rates] = [[], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const psqlMs = await readByPsql(server);
    const { ms, lines } = await readLines(url);
    if (lines !== events) throw new Error(`${lines} lines of ${events}`);
    ratios.push(psqlMs / ms);
    rates.push((lines / ms) * 1000);
  }
  return {
    what: `GET /events as lines, ${events.toLocaleString('en')} events, against the same SELECT through psql`,
    measured: `${middle(ratios).toFixed(2)} (${range(ratios)}; ${middle(rates).toFixed(0)} events/s)`,
    goal: '>= 0.4',
    ok: middle(ratios) >= 0.4,
  };
}

async function exportLog({ url, pid }, events) {
  const before = await residentMb(pid);
  let most = 0;
  const watch = setInterval(async () => {
    most = Math.max(most, await residentMb(pid));
  }, 200);
  const { ms, lines } = await readLines(url, '/log/export');
  clearInterval(watch);
  if (lines !== events) throw new Error(`${lines} lines of ${events}`);
  const rate = (lines / ms) * 1000;
  return {
    what: `GET /log/export, ${events.toLocaleString('en')} events`,
    measured: `${rate.toFixed(0)}/s (memory ${before} to ${most} MB)`,
    goal: '>= 20000/s',
    ok: rate >= 20_000,
  };
}

async function compareAsOf(url, id, position) {
  const [plain, past] = [`${url}/ssh_credentials/${id}`, `${url}/ssh_credentials/${id}?as_of=${position}`];
  await requestsPerSecond(plain);
  const ratios = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    ratios.push((await requestsPerSecond(past)) / (await requestsPerSecond(plain)));
  }
  return {
    what: 'GET /ssh_credentials/{id}?as_of=, against a plain GET, 64 connections',
    measured: `${middle(ratios).toFixed(2)} (${range(ratios)})`,
    goal: 'none',
    ok: true,
  };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ events = EVENTS } = {}) {
  const service = await startService();
  try {
    const server = await findRunningPostgres(service.dataDir);
    const id = await onServer(service.dataDir, async (client) => {
      const account = await writeManyEvents(client, events);
      return openBenchAccount(client, account);
    });
    return [
      await compareLines(service.url, server, events),
      await exportLog(service, events),
      await compareAsOf(service.url, id, Math.floor(events / 2)),
    ];
  } finally {
    await service.stop();
    await service.clean();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.table(await run({ events: Number(process.argv[2] ?? EVENTS) }));
}
