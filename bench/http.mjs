/**
 * Measures requests over HTTP, and the bare framework and pgbench in the same rounds. The goals against the framework
 * are ratios of node's CPU time, because on two cores a rate would depend more on the load generator and PostgreSQL.
 */
import { readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import pg from 'pg';
import { findRunningPostgres } from '../dist/src/database/embedded/embedded-postgres.js';
import { ageServer } from './aged-server.mjs';
import { middle } from './middle.mjs';
import { newBody } from './new-credential.mjs';
import { timesOfPosts } from './one-connection.mjs';
import { openPgbench } from './pgbench.mjs';
import { API_KEY, cpuMicrosOfChildren, startProgram, startService } from './programs.mjs';

/** The warm-up is a number of requests and not a time, because on a busy machine the compiler would not be done. */
const LENGTHS = { rounds: 5, seconds: 4, warmUpRequests: 40_000, warmUpCreates: 4_000 };
const QUICK_LENGTHS = { rounds: 3, seconds: 1, warmUpRequests: 20_000, warmUpCreates: 2_000 };
const HEADERS = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };

const REQUESTS = [
  {
    name: 'create (POST /ssh_credentials, 128 connections)',
    goal: 4.0,
    optionsOf: () => ({
      path: '',
      connections: 128,
      requests: [{ method: 'POST', setupRequest: (request) => ({ ...request, body: newBody() }) }],
    }),
  },
  {
    name: 'get (GET /ssh_credentials/{id}, 64 connections)',
    goal: 2.5,
    optionsOf: (id) => ({ path: `/${id}`, connections: 64 }),
  },
];

/** The requests per second, and the CPU time of a request in microseconds for each process. */
async function measure({ url, pid, cpuMicros }, { path, ...options }, seconds) {
  const times = async () => ({
    node: await cpuMicros(),
    postgres: await cpuMicrosOfChildren(pid),
    generator: process.cpuUsage().user + process.cpuUsage().system,
  });
  const before = await times();
  const load = { url: `${url}/ssh_credentials${path}`, duration: seconds, headers: HEADERS, ...options };
  const { requests, non2xx, errors } = await autocannon(load);
  const after = await times();
  if (non2xx + errors > 0)
    throw new Error(`${non2xx} refused and ${errors} failed requests: this measures the wrong thing`);
  const cost = Object.entries(after).map(([who, micros]) => [who, (micros - before[who]) / requests.total]);
  return { total: requests.total, rate: requests.average, ...Object.fromEntries(cost) };
}

/** The rows of one kind of request, from its rounds. */
function rowsOf({ name, goal }, rounds) {
  const ratio = (what) => {
    const ratios = rounds.map(({ bare, service }) => service[what] / bare[what]);
    return { value: middle(ratios), range: `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}` };
  };
  const median = (program, what) => middle(rounds.map((round) => round[program][what])).toFixed(0);
  const [cpu, rate] = [ratio('node'), ratio('rate')];
  const costs = `${median('service', 'node')} µs against ${median('bare', 'node')} µs`;
  const others = `PostgreSQL ${median('service', 'postgres')} µs, generator ${median('service', 'generator')} µs`;
  const rates = `${median('service', 'rate')}/s against ${median('bare', 'rate')}/s`;
  return [
    {
      what: `node's CPU time for a ${name}, against the bare framework`,
      measured: `${cpu.value.toFixed(2)} (${cpu.range}; ${costs}; ${others})`,
      goal: `<= ${goal}`,
      ok: cpu.value <= goal,
    },
    {
      what: `rate of a ${name}, against the bare framework`,
      measured: `${rate.value.toFixed(2)} (${rate.range}; ${rates})`,
      goal: 'none',
      ok: true,
    },
  ];
}

const row = (what, measured, goal, ok) => ({ what, measured, goal, ok });
const CREATE = REQUESTS[0].optionsOf();

const timesOfOneCreate = ({ url }, seconds) => timesOfPosts(`${url}/ssh_credentials`, HEADERS, newBody, seconds);

/** The additional time of a flush on a slower disk. The disk of a laptop or a cloud takes about a millisecond. */
const SLOWER_FLUSH_MS = 1;

/** Runs `work` while each commit waits as long as on such a disk. */
async function onSlowerDisk(database, work) {
  const change = async (...settings) => {
    for (const setting of settings) await database.query(`alter system ${setting}`);
    await database.query('select pg_reload_conf()');
  };
  await change(`set commit_delay = ${SLOWER_FLUSH_MS * 1000}`, 'set commit_siblings = 0');
  return work().finally(() => change('reset commit_delay', 'reset commit_siblings'));
}

/**
 * Measures creates and transactions of pgbench on the same server, round by round. `floor` is the bare framework with
 * one insert for each request: no service on this framework and database could take less time.
 */
async function beside(pgbench, database, { service, floor }, { rounds, seconds, warmUpCreates }) {
  const [rates, times, slower, inserts, floors] = [[], [], [], [], []];
  const ofOne = async () => {
    const ours = middle(await timesOfOneCreate(service, seconds));
    return { ours, theirs: middle(await pgbench.timesOfOne('create', seconds)) };
  };
  for (const program of [service, floor]) {
    for (let sent = 0; sent < warmUpCreates; ) sent += (await timesOfOneCreate(program, seconds)).length;
  }
  for (let round = 0; round < rounds; round += 1) {
    const { rate } = await measure(service, CREATE, seconds);
    rates.push({ ours: rate, theirs: await pgbench.rate(seconds) });
    const one = await ofOne();
    times.push(one);
    slower.push(await onSlowerDisk(database, ofOne));
    const insert = middle(await pgbench.timesOfOne('insert', seconds));
    inserts.push({ ours: one.ours, theirs: insert });
    floors.push({ ours: middle(await timesOfOneCreate(floor, seconds)), theirs: insert });
  }
  const ratioOf = (pairs, digits, unit) => {
    const ratios = pairs.map(({ ours, theirs }) => ours / theirs);
    const median = (who) => `${middle(pairs.map((pair) => pair[who])).toFixed(digits)}${unit}`;
    const range = `${Math.min(...ratios).toFixed(2)}-${Math.max(...ratios).toFixed(2)}`;
    const value = middle(ratios);
    return { value, text: `${value.toFixed(2)} (${range}; ${median('ours')} against ${median('theirs')})` };
  };
  const rate = ratioOf(rates, 0, '/s');
  const [time, onSlower, besideInsert, least] = [times, slower, inserts, floors].map((pairs) =>
    ratioOf(pairs, 2, ' ms'),
  );
  const rateOf =
    'rate of creates on 128 connections, against pgbench with 32 clients that insert an event a transaction';
  const [statement, insert] = ['of the same statement', 'that inserts an event'].map(
    (what) => `against a pgbench transaction ${what}`,
  );
  const timeOf = 'median time of a create on one connection';
  const leastOf = 'median time of a POST of the bare framework with one insert';
  return [
    row(rateOf, rate.text, '>= 0.40', rate.value >= 0.4),
    row(`${timeOf}, ${statement}`, time.text, 'none', true),
    row(`${timeOf} where a flush takes ${SLOWER_FLUSH_MS} ms longer, ${statement}`, onSlower.text, 'none', true),
    row(`${timeOf}, ${insert}`, besideInsert.text, 'none', true),
    row(`${leastOf}, ${insert}`, least.text, 'none', true),
  ];
}

async function againstPgbench(service, address, database, lengths) {
  const pgbench = await openPgbench(database, address);
  if (pgbench === undefined) {
    const measured = "not measured: there is no pgbench in the PATH; it comes with PostgreSQL's server packages";
    return [row('creates against pgbench', measured, 'rate >= 0.40', false)];
  }
  const { host, port, user } = address;
  const connection = { host, port, user, database: 'postgres' };
  const floor = await startProgram('bare.mjs', { INSERT: JSON.stringify({ connection, text: pgbench.insert }) });
  try {
    return await beside(pgbench, database, { service, floor }, lengths);
  } finally {
    await floor.stop();
    await pgbench.close();
  }
}

const residentMb = async (pid) => {
  const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? Number.NaN) / 1024);
};

async function compare(programs, database, { rounds, seconds, warmUpRequests }, id) {
  const kinds = REQUESTS.map((kind) => ({ kind, options: kind.optionsOf(id), rounds: [] }));
  for (const { options } of kinds) {
    for (const program of Object.values(programs)) {
      for (let sent = 0; sent < warmUpRequests; ) sent += (await measure(program, options, seconds)).total;
    }
  }
  await database.query('vacuum analyze');
  await ageServer(database);
  for (let round = 0; round < rounds; round += 1) {
    for (const { options, rounds } of kinds) {
      const bare = await measure(programs.bare, options, seconds);
      rounds.push({ bare, service: await measure(programs.service, options, seconds) });
    }
  }
  return kinds.flatMap(({ kind, rounds }) => rowsOf(kind, rounds));
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ quick = false } = {}) {
  const bare = await startProgram('bare.mjs');
  const service = await startService();
  const lengths = quick ? QUICK_LENGTHS : LENGTHS;
  const address = await findRunningPostgres(service.dataDir);
  const { host, port, user } = address;
  const database = new pg.Client({ host, port, user, database: 'postgres' });
  await database.connect();
  try {
    const memoryAtStart = await residentMb(service.pid);
    const created = await fetch(`${service.url}/ssh_credentials`, {
      method: 'POST',
      headers: HEADERS,
      body: newBody(),
    });
    const { id } = await created.json();
    const rows = await compare({ bare, service }, database, lengths, id);
    const memory = `${memoryAtStart} MB, then ${await residentMb(service.pid)} MB`;
    const pgbenchRows = await againstPgbench(service, address, database, lengths);
    return [...rows, ...pgbenchRows, row('resident memory after that, against after start', memory, 'none', true)];
  } finally {
    await database.end();
    await Promise.all([service.stop(), bare.stop()]);
    await service.clean();
  }
}
