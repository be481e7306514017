/**
 * Compares appends with other event stores on the same PostgreSQL server, each in its own process and database. It
 * measures the rates with 32 and 128 writers, checks who wins races for a stream, and whether a live follower sees
 * every event. `npm ci --prefix bench` installs the other stores.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import pg from 'pg';
import { findRunningPostgres } from '../dist/src/database/embedded/embedded-postgres.js';
import { ageServer, checkpoint } from './aged-server.mjs';
import { middle } from './middle.mjs';
import { startService } from './programs.mjs';

/** What each store does in an append in addition to the event. */
const STORES = {
  ours: 'read model, head of the log, leaf hash',
  castore: 'no read model',
  evtstore: 'no read model',
  emmett: 'no read model registered',
  'message-db': 'no read model',
};
const PEERS = Object.keys(STORES).filter((name) => name !== 'ours');
const GOALS = { 32: 1.2, 128: 1.5 };
const LENGTHS = { rounds: 3, ms: 3000, warmUpMs: 4000 };
const QUICK_LENGTHS = { rounds: 1, ms: 1000, warmUpMs: 1000 };
const RACES = { races: 20, rivals: 32 };
const PROCESS = new URL('peers/store-process.mjs', import.meta.url).pathname;

const range = (numbers, digits) => `${Math.min(...numbers).toFixed(digits)}-${Math.max(...numbers).toFixed(digits)}`;

async function startStore(name, { host, port, user }) {
  const { PATH, HOME } = process.env;
  const database = databaseOf(name);
  const DATABASE_URL = `postgres:///${database}?host=${host}&port=${port}&user=${user}`;
  const address = { PGHOST: host, PGPORT: String(port), PGUSER: user, PGDATABASE: database };
  const child = spawn(process.execPath, [PROCESS, name], {
    env: { PATH, HOME, DATABASE_URL, ...address },
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
  });
  // One listener for all answers, because each listener stays until the end.
  const ended = once(child, 'exit').then(([code]) => {
    throw new Error(`the store ${name} ended with ${code}`);
  });
  ended.catch(() => undefined);
  const answer = async () => {
    const [message] = await Promise.race([once(child, 'message'), ended]);
    return message;
  };
  await answer();
  const ask = (job, options) => {
    child.send({ job, ...options });
    return answer();
  };
  const stop = async () => {
    child.kill('SIGKILL');
    await ended.catch(() => undefined);
  };
  return { name, ask, stop };
}

/** No service runs on our database, because it would sign checkpoints, which the other stores do not do. */
const databaseOf = (name) => name.replace('-', '_');

async function onDatabase(server, database, run) {
  const client = new pg.Client({ ...server, database });
  await client.connect();
  await run(client).finally(() => client.end());
}

/** The rates of every store by the number of writers. Each round measures every store. */
async function ratesOf(stores, server, { rounds, ms, warmUpMs }) {
  for (const { ask } of stores) await ask('append', { writers: 32, ms: warmUpMs });
  // Otherwise autovacuum would do this during a round.
  for (const { name } of stores) {
    await onDatabase(server, databaseOf(name), (client) => client.query('vacuum analyze'));
  }
  await onDatabase(server, 'postgres', ageServer);
  const measured = Object.keys(GOALS).map((writers) => ({ writers: Number(writers), rates: {}, cpu: {} }));
  for (let round = 0; round < rounds; round += 1) {
    for (const { writers, rates, cpu } of measured) {
      for (const { name, ask } of stores) {
        await onDatabase(server, 'postgres', checkpoint);
        const { perSecond, cpuMicros } = await ask('append', { writers, ms });
        rates[name] = [...(rates[name] ?? []), perSecond];
        cpu[name] = [...(cpu[name] ?? []), cpuMicros];
      }
    }
  }
  return measured;
}

function rateRows({ writers, rates, cpu }) {
  const fastest = PEERS.reduce((best, name) => (middle(rates[name]) > middle(rates[best]) ? name : best));
  const ratios = rates.ours.map((rate, round) => rate / rates[fastest][round]);
  const goal = GOALS[writers];
  const ours = `${middle(rates.ours).toFixed(0)}/s against ${middle(rates[fastest]).toFixed(0)}/s of ${fastest}`;
  const rows = Object.entries(STORES).map(([name, does]) => ({
    what: `append, ${writers} writers: ${name} (${does})`,
    measured: `${middle(rates[name]).toFixed(0)}/s (${range(rates[name], 0)}; ${middle(cpu[name]).toFixed(0)} µs of node each)`,
    goal: 'none',
    ok: true,
  }));
  const ratio = {
    what: `append with the read model, ${writers} writers, against the fastest peer`,
    measured: `${middle(ratios).toFixed(2)} x (${range(ratios, 2)}; ${ours})`,
    goal: `>= ${goal} x`,
    ok: middle(ratios) >= goal,
  };
  return [ratio, ...rows];
}

/** Faults of the other stores are shown, and do not count as a missed goal. */
async function correctnessRows({ name, ask }, { ms }) {
  const { winners } = await ask('race', RACES);
  const { appended, lost, twice } = await ask('follow', { writers: 32, ms });
  const isOurs = name === 'ours';
  const right = winners.filter((count) => count === 1).length;
  const tail =
    appended === undefined ? 'has no way to follow' : `${lost} of ${appended} events lost, ${twice} seen twice`;
  return [
    {
      what: `${RACES.races} races of ${RACES.rivals} writers for one stream, those with one winner: ${name}`,
      measured: `${right} of ${winners.length}`,
      goal: isOurs ? `${RACES.races}` : 'none',
      ok: !isOurs || right === RACES.races,
    },
    {
      what: `live tail beside 32 writers: ${name}`,
      measured: tail,
      goal: isOurs ? '0 lost' : 'none',
      ok: !isOurs || (lost === 0 && twice === 0),
    },
  ];
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run({ quick = false } = {}) {
  if (!existsSync(new URL('node_modules', import.meta.url))) {
    throw new Error('the other event stores are missing: run `npm ci --prefix bench` first');
  }
  const lengths = quick ? QUICK_LENGTHS : LENGTHS;
  const service = await startService();
  const stores = [];
  try {
    const server = await findRunningPostgres(service.dataDir);
    for (const name of Object.keys(STORES)) {
      await onDatabase(server, 'postgres', (client) => client.query(`create database ${databaseOf(name)}`));
      stores.push(await startStore(name, server));
    }
    const rows = (await ratesOf(stores, server, lengths)).flatMap(rateRows);
    for (const store of stores) rows.push(...(await correctnessRows(store, lengths)));
    return rows;
  } finally {
    await Promise.all(stores.map(({ stop }) => stop()));
    await service.stop();
    await service.clean();
  }
}
