/**
 * Measures what other callers notice while one account sends many costly requests: the 99th percentile of another
 * account's GET and PATCH, and of a gateway's authorize. The base is a flood of plain GETs on 1,000 connections, and no
 * flood on 10. `node bench/fairness.mjs 20000 tunnel_sessions` uses a smaller log, and floods that route alone.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import { IdSource } from '../dist/src/kernel/ids.js';
import { BENCH_KEY, openBenchAccount } from './bench-account.mjs';
import { ACCOUNT, writeManyEvents } from './many-events.mjs';
import { newBody } from './new-credential.mjs';
import { API_KEY, onServer, residentMb, startService } from './programs.mjs';

const EVENTS = 108_000;
const SECONDS = 3;
const WARM_UP_SECONDS = 1;
const MAX_RATIO = { 10: 5, 1000: 1.5 };
const MAX_RESIDENT_MB = 600;
const TOKEN = 'a-gateway-token-for-the-bench';
const JSON_TYPE = { 'content-type': 'application/json' };
const NEIGHBOUR = { authorization: `Bearer ${API_KEY}`, ...JSON_TYPE };
const GATEWAY = { authorization: `Bearer ${TOKEN}`, ...JSON_TYPE };

const thousand = (itemOf) => Array.from({ length: 1000 }, (_, n) => itemOf(n));
const MANY_RULES = JSON.stringify({
  acl: thousand((n) => `bind:*.a${n}.some-longer-name.example.com:${n + 1}`),
  target: thousand((n) => ({ domain: `x.y.z.b${n}.a-name.example.com` })),
});

const costlyRoutes = (events) => [
  { what: 'GET /events?actor=nobody&limit=1', path: '/events?actor=nobody&limit=1' },
  { what: 'GET /edges/tcp?as_of=', path: `/edges/tcp?as_of=${Math.floor(events / 2)}` },
  { what: 'GET /events as lines', path: '/events', accept: 'application/x-ndjson' },
  { what: 'POST /acl/check of 1,000 rules and targets', path: '/acl/check', body: MANY_RULES },
  { what: 'GET /tunnel_sessions', path: '/tunnel_sessions' },
  { what: 'GET /edges/tcp', path: '/edges/tcp' },
];

const percentile = (times) => [...times].sort((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN;
const ms = (number) => `${number.toFixed(1)} ms`;

/** Starts autocannon in another process. In this one it would delay the measured requests. */
function flood(url, { path, accept = 'application/json', body }, connections) {
  const program = new URL('../node_modules/autocannon/autocannon.js', import.meta.url).pathname;
  const headers = ['-H', `authorization=Bearer ${BENCH_KEY}`, '-H', `accept=${accept}`];
  const sent = body === undefined ? [] : ['-m', 'POST', '-b', body, '-H', 'content-type=application/json'];
  const limits = ['-c', String(connections), '-d', '600', '-t', '60', '--no-progress'];
  const args = [program, ...limits, ...headers, ...sent, url + path];
  const child = spawn(process.execPath, args, { stdio: 'ignore' });
  return async () => {
    const ended = once(child, 'close');
    child.kill('SIGKILL');
    await ended;
  };
}

/** Sends one request after the other as another caller, until `signal` aborts. */
async function neighbour(times, signal, ask) {
  while (!signal.aborted) {
    const start = performance.now();
    const response = await ask();
    await response.text();
    times.push(performance.now() - start);
    if (!response.ok) throw new Error(`a neighbour was answered ${response.status}: this measures the wrong thing`);
    await sleep(2);
  }
}

/** The 99th percentile of each request of the other callers, and the peak of the service's resident memory. */
async function underFlood(world, route, connections) {
  const { url, pid, questions } = world;
  const stop = connections === 0 ? async () => undefined : flood(url, route, connections);
  await sleep(WARM_UP_SECONDS * 1000);
  const ending = new AbortController();
  const times = questions.map(() => []);
  const all = Promise.all(questions.map((ask, n) => neighbour(times[n], ending.signal, ask)));
  const end = performance.now() + SECONDS * 1000;
  let resident = 0;
  while (performance.now() < end) {
    await sleep(100);
    resident = Math.max(resident, await residentMb(pid));
  }
  ending.abort();
  await all;
  await stop();
  await sleep(500);
  return { p99: times.map(percentile), resident };
}

async function send(url, path, headers, body) {
  const answer = await fetch(url + path, { method: 'POST', headers, body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path} was answered ${answer.status}: ${await answer.text()}`);
}

/** A page of edges, and a page of sessions with ten tunnels each, which their gateway reports until the returned function is called. */
async function fillLists(url, credentialId) {
  const flooding = { ...NEIGHBOUR, authorization: `Bearer ${BENCH_KEY}` };
  const edge = (n) => ({
    hostports: [`lists.example.com:${n + 1}`],
    description: 'a page of edges',
    metadata: 'x'.repeat(500),
  });
  for (let n = 0; n < 100; n += 1) await send(url, '/edges/tcp', flooding, edge(n));
  const ids = new IdSource();
  const common = { account_id: ACCOUNT, credential_id: credentialId, ago_ms: 0 };
  const sessions = Array.from({ length: 100 }, () => ({
    ...common,
    id: ids.next('ts'),
    source: '203.0.113.9',
    client: 'SSH-2.0-x',
  }));
  const tunnels = sessions.flatMap(({ id }) =>
    Array.from({ length: 10 }, (_, n) => ({
      ...common,
      id: ids.next('tn'),
      session_id: id,
      targets: [{ address: `1.tcp.example.com:${20_000 + n}` }],
    })),
  );
  const gatewayId = ids.next('gw');
  let report = 1;
  await send(url, '/ssh_gateway/sessions', GATEWAY, {
    gateway_id: gatewayId,
    report,
    whole_since: 1,
    sessions,
    tunnels,
  });
  const timer = setInterval(() => {
    report += 1;
    void send(url, '/ssh_gateway/sessions', GATEWAY, { gateway_id: gatewayId, report }).catch(() => undefined);
  }, 2_000);
  return () => clearInterval(timer);
}

async function openWorld(service, events) {
  const id = await onServer(service.dataDir, async (client) => {
    const account = await writeManyEvents(client, events);
    return openBenchAccount(client, account);
  });
  const { url } = service;
  const close = await fillLists(url, id);
  const body = newBody();
  const created = await fetch(`${url}/ssh_credentials`, { method: 'POST', headers: NEIGHBOUR, body });
  const own = await created.json();
  const question = JSON.stringify({ public_key: own.public_key, target: { domain: 'www.example.com' } });
  let change = 0;
  const patch = () => {
    change += 1;
    const changed = JSON.stringify({ description: `change ${change}` });
    return fetch(own.uri, { method: 'PATCH', headers: NEIGHBOUR, body: changed });
  };
  return {
    url,
    pid: service.pid,
    close,
    plain: { path: `/ssh_credentials/${id}` },
    questions: [
      () => fetch(own.uri, { headers: NEIGHBOUR }),
      patch,
      () => fetch(`${url}/ssh_gateway/authorize`, { method: 'POST', headers: GATEWAY, body: question }),
    ],
  };
}

const NAMES = ['GET', 'PATCH', 'authorize'];

function rowsOf(what, connections, { p99, resident }, base) {
  const [max, ratios] = [MAX_RATIO[connections], p99.map((time, n) => time / base[n])];
  const each = NAMES.map((name, n) => `${name} ${ratios[n].toFixed(2)} x (${ms(p99[n])} against ${ms(base[n])})`);
  const against = connections === 10 ? 'no flood' : 'a flood of plain GETs';
  return [
    {
      what: `p99 of a neighbour's GET, PATCH and authorize under ${connections} connections of ${what}, against ${against}`,
      measured: `${Math.max(...ratios).toFixed(2)} x at worst: ${each.join(', ')}`,
      goal: `<= ${max} x`,
      ok: ratios.every((ratio) => ratio <= max),
    },
    {
      what: `resident memory under ${connections} connections of ${what}`,
      measured: `${resident} MB`,
      goal: `<= ${MAX_RESIDENT_MB} MB`,
      ok: resident <= MAX_RESIDENT_MB,
    },
  ];
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ events = EVENTS, only = '' } = {}) {
  const service = await startService({ GATEWAY_TOKENS: TOKEN });
  let close = () => undefined;
  try {
    const world = await openWorld(service, events);
    close = world.close;
    await underFlood(world, world.plain, 10);
    const rows = [];
    for (const route of costlyRoutes(events).filter(({ what }) => what.includes(only))) {
      // Each flood is measured right after its base, because the machine changes within a minute.
      const quiet = await underFlood(world, world.plain, 0);
      rows.push(...rowsOf(route.what, 10, await underFlood(world, route, 10), quiet.p99));
      const plain = await underFlood(world, world.plain, 1000);
      rows.push(...rowsOf(route.what, 1000, await underFlood(world, route, 1000), plain.p99));
    }
    return rows;
  } finally {
    close();
    await service.stop();
    await service.clean();
  }
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  const [, , events = EVENTS, only] = process.argv;
  for (const { what, measured, goal, ok } of await run({ events: Number(events), only })) {
    console.log(`${ok ? 'ok    ' : 'MISSED'}  ${what}\n          ${measured}   (goal: ${goal})`);
  }
}
