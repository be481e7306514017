/**
 * Measures whether a request takes more CPU time of node and PostgreSQL with more credentials or more accounts. Each
 * size has its own service and database, and each round measures every size, so that a slow moment of the machine
 * affects all sizes. Then it measures the memory that is still held after creates and after reading a list.
 */
import { readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import { accountKey, credentialId, fingerprintOf, writeAccounts } from './growth-data.mjs';
import { middle } from './middle.mjs';
import { newBody } from './new-credential.mjs';
import { cpuMicrosOfChildren, onServer, startService } from './programs.mjs';

const GOAL = 0.1;
const MAX_DEPTH_RATIO = 1.2;
const MAX_GROWTH_MB = 100;
const TOKEN = 'a-gateway-token-for-the-bench';
const CONNECTIONS = 16;
/** The requests of one measurement. Each measurement draws others. */
const SAMPLES = 128;
const PAGE = 20;
const LENGTHS = {
  rounds: 3,
  seconds: 1,
  creates: 1500,
  warmUps: 1,
  sizes: [1e3, 1e4, 1e5, 1e6],
  accounts: [1, 100, 1e4],
};
const QUICK_LENGTHS = { ...LENGTHS, rounds: 1, warmUps: 1, sizes: [1e3, 1e4], accounts: [1, 100] };
const CREDENTIALS_OF_EACH = 10;
const WALK = { creates: 100_000, connections: 128, page: 100 };

const asAdmin = ({ account }, more = {}) => ({
  headers: { authorization: `Bearer ${accountKey(account)}`, 'content-type': 'application/json' },
  ...more,
});

/**
 * The requests about a credential. `number` is its number, and `position` is the place of its event in its account's
 * log.
 */
const OPERATIONS = {
  get: (one) => asAdmin(one, { path: `/ssh_credentials/${one.id}` }),
  list: (one) => asAdmin(one, { path: `/ssh_credentials?limit=${PAGE}&before_id=${one.id}` }),
  authorize: ({ number }) => ({
    method: 'POST',
    path: '/ssh_gateway/authorize',
    headers: { authorization: `Bearer ${TOKEN}`, 'content-type': 'application/json' },
    body: JSON.stringify({ fingerprint: fingerprintOf(number), target: { domain: 'www.example.com' } }),
  }),
  'get as of': (one) => asAdmin(one, { path: `/ssh_credentials/${one.id}?as_of=${one.position}` }),
  feed: (one) => asAdmin(one, { path: `/events?limit=${PAGE}&after=${one.position}` }),
  history: (one) => asAdmin(one, { path: `/ssh_credentials/${one.id}/events` }),
  // Creates come last, because they change the sizes.
  create: (one) =>
    asAdmin(one, {
      method: 'POST',
      path: '/ssh_credentials',
      setupRequest: (request) => ({ ...request, body: newBody() }),
    }),
};

/** The first page of a list, and the last of a million. */
const PAGES = {
  first: () => asAdmin({ account: 1 }, { path: `/ssh_credentials?limit=${PAGE}` }),
  last: () => asAdmin({ account: 1 }, { path: `/ssh_credentials?limit=${PAGE}&before_id=${credentialId(PAGE + 1)}` }),
};

/**
 * The slope of a least-squares line through the logarithms. 0 means the same time at every size, and 1 means
 * proportional.
 */
function exponentOf(points) {
  const logs = points.map(({ x, y }) => ({ x: Math.log(x), y: Math.log(y) }));
  const mean = (axis) => logs.reduce((sum, point) => sum + point[axis], 0) / logs.length;
  const [x0, y0] = [mean('x'), mean('y')];
  const sum = (term) => logs.reduce((total, { x, y }) => total + term(x - x0, y - y0), 0);
  return sum((x, y) => x * y) / sum((x) => x * x);
}

/** Starts a service with so many accounts of so many credentials. The growth is computed over `size`. */
async function startSized(accounts, credentialsOfEach, size) {
  const service = await startService({ GATEWAY_TOKENS: TOKEN });
  await onServer(service.dataDir, (client) => writeAccounts(client, accounts, credentialsOfEach));
  const sample = () => {
    const number = 1 + Math.floor(Math.random() * accounts * credentialsOfEach);
    const account = 1 + Math.floor((number - 1) / credentialsOfEach);
    return { number, account, id: credentialId(number), position: 1 + ((number - 1) % credentialsOfEach) };
  };
  return { ...service, size, sample, created: 0 };
}

/** The CPU time of a request in microseconds, for node and PostgreSQL together. */
async function measure(service, [operation, requestOf], { seconds, creates }) {
  const { url, pid, cpuMicros, sample } = service;
  const cpu = async () => (await cpuMicros()) + (await cpuMicrosOfChildren(pid));
  // Each connection sends all of them in order, from the first one on.
  const requests = Array.from({ length: SAMPLES }, () => requestOf(sample()));
  const length = operation === 'create' ? { amount: creates } : { duration: seconds };
  const before = await cpu();
  const { requests: sent, non2xx, errors } = await autocannon({ url, connections: CONNECTIONS, requests, ...length });
  if (non2xx + errors > 0) throw new Error(`${operation}: ${non2xx} refused and ${errors} failed requests`);
  if (operation === 'create') service.created += creates;
  return ((await cpu()) - before) / sent.total;
}

/** The growth of each operation over services of several sizes. */
async function growthOf(services, what, { rounds, warmUps, ...length }, sizeOf) {
  const rows = [];
  for (const operation of Object.entries(OPERATIONS)) {
    for (let n = 0; n < warmUps; n += 1) for (const service of services) await measure(service, operation, length);
    const measured = [];
    for (let round = 0; round < rounds; round += 1) {
      const points = [];
      for (const service of services) {
        const y = await measure(service, operation, length);
        points.push({ x: sizeOf(service), y });
      }
      measured.push(points);
    }
    rows.push(rowOf(operation[0], what, measured));
  }
  return rows;
}

function rowOf(operation, what, rounds) {
  const points = rounds[0].map((_, n) => ({
    x: Math.round(middle(rounds.map((round) => round[n].x))),
    y: Math.round(middle(rounds.map((round) => round[n].y))),
  }));
  const [exponent, all] = [exponentOf(points), rounds.map(exponentOf)];
  const costs = points.map(({ y }) => y).join(', ');
  return {
    what: `growth of ${operation} with the number of ${what}: exponent`,
    measured: `${exponent.toFixed(3)} (${Math.min(...all).toFixed(3)} to ${Math.max(...all).toFixed(3)}; ${costs} µs of node and PostgreSQL)`,
    goal: `<= ${GOAL}`,
    ok: exponent <= GOAL,
  };
}

async function depthRow(service, { rounds, ...length }) {
  const ratios = [];
  for (let round = 0; round < rounds; round += 1) {
    const [first, last] = Object.entries(PAGES);
    const base = await measure(service, first, length);
    ratios.push((await measure(service, last, length)) / base);
  }
  return {
    what: `CPU time of a page of a list at the depth of ${service.size.toLocaleString('en')} rows, against the first page`,
    measured: `${middle(ratios).toFixed(2)} x (${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)})`,
    goal: `<= ${MAX_DEPTH_RATIO} x`,
    ok: middle(ratios) <= MAX_DEPTH_RATIO,
  };
}

const residentMb = async (pid) =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

/** The memory that the process holds after many creates and after reading a whole list, at the largest size. */
async function memoryRow(dataService, { creates, connections, page }) {
  const { size } = dataService;
  await dataService.stop();
  const service = await dataService.again();
  const headers = { authorization: `Bearer ${accountKey(1)}`, 'content-type': 'application/json' };
  const before = await residentMb(service.pid);
  const requests = [{ method: 'POST', path: '/ssh_credentials', setupRequest: (one) => ({ ...one, body: newBody() }) }];
  await autocannon({ url: service.url, connections, amount: creates, headers, requests });
  let [read, next] = [0, `${service.url}/ssh_credentials?limit=${page}`];
  while (next !== null) {
    const answer = await (await fetch(next, { headers })).json();
    read += answer.ssh_credentials.length;
    next = answer.next_page_uri;
  }
  if (read < size + creates) throw new Error(`the list has ${read} credentials`);
  const after = await residentMb(service.pid);
  return {
    stop: service.stop,
    row: {
      what: `resident memory after ${creates.toLocaleString('en')} creates and a list of ${read.toLocaleString('en')}, against after start`,
      measured: `${after - before} MB more (${before} MB, then ${after} MB)`,
      goal: `<= ${MAX_GROWTH_MB} MB more`,
      ok: after - before <= MAX_GROWTH_MB,
    },
  };
}

/** Starts the services, uses them, and removes them. */
async function withServices(starts, use) {
  const services = [];
  try {
    services.push(...(await Promise.all(starts.map((start) => start()))));
    return await use(services);
  } finally {
    for (const service of services) {
      await service.stop();
      await service.clean();
    }
  }
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ quick = false } = {}) {
  const { sizes, accounts, ...lengths } = quick ? QUICK_LENGTHS : LENGTHS;
  const ofAccounts = accounts.map((count) => () => startSized(count, CREDENTIALS_OF_EACH, count));
  const rows = await withServices(ofAccounts, (services) =>
    growthOf(services, 'accounts', lengths, ({ size }) => size),
  );
  const ofSizes = sizes.map((size) => () => startSized(1, size, size));
  const more = await withServices(ofSizes, async (services) => {
    const growth = await growthOf(services, 'credentials', lengths, ({ size, created }) => size + created);
    if (quick) return growth;
    const largest = services.at(-1);
    const depth = await depthRow(largest, lengths);
    const { row, stop } = await memoryRow(largest, WALK);
    largest.stop = stop;
    return [...growth, depth, row];
  });
  return [...more, ...rows];
}
