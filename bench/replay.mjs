/**
 * A million events: rebuild, prove, verify, export and import by the operator's commands, each in a process of its own, beside
 * PostgreSQL's COPY of the same events to nowhere; and what callers notice of a rebuild. Needs psql. `EVENTS=100000` for a
 * short run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import autocannon from 'autocannon';
import pg from 'pg';
import { findRunningPostgres } from '../dist/src/database/embedded/embedded-postgres.js';
import { ACCOUNT, writeManyEvents } from './many-events.mjs';
import { middle } from './middle.mjs';
import { API_KEY, psqlMs, startService } from './programs.mjs';

const EVENTS = Number(process.env.EVENTS ?? 1_000_000);
const ROUNDS = 3;
const CONNECTIONS = 32;
const CLI = new URL('../dist/src/cli/cli.js', import.meta.url).pathname;

const range = (numbers, digits) => `${Math.min(...numbers).toFixed(digits)}-${Math.max(...numbers).toFixed(digits)}`;

const command = (dataDir, ...args) => runCommand({ DATA_DIR: dataDir }, args);

/** Runs a command to its end: how long it took, the most memory it held, and what it said. `stdout`: a file for what it prints. */
async function runCommand(settings, args, stdout = 'pipe') {
  const start = performance.now();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', stdout, 'pipe'] });
  let [peakMb, said] = [0, ''];
  child.stdout?.resume();
  child.stderr.on('data', (data) => {
    said += data;
  });
  const watch = setInterval(async () => {
    const status = await readFile(`/proc/${child.pid}/status`, 'utf8').catch(() => '');
    peakMb = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024) || peakMb;
  }, 50);
  const [code] = await once(child, 'close');
  clearInterval(watch);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}: ${said}`);
  return { seconds: (performance.now() - start) / 1000, peakMb, said };
}

/** Replay, then the import of the same log into a new database, in turn. */
async function importBesideReplay(sql, server, dataDir) {
  const path = join(dirname(dataDir), 'log.ndjson');
  const file = await open(path, 'w');
  await runCommand({ DATA_DIR: dataDir }, ['audit', 'export', '--account', ACCOUNT], file.fd);
  await file.close();
  const rounds = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    const replayed = await command(dataDir, 'projections', 'rebuild');
    await sql.query('create database imported');
    const DATABASE_URL = `postgres:///imported?host=${server.host}&port=${server.port}&user=${server.user}`;
    await runCommand({ DATABASE_URL }, ['migrate']);
    rounds.push({ replayed, imported: await runCommand({ DATABASE_URL }, ['audit', 'import', path]) });
    await sql.query('drop database imported');
  }
  return rounds;
}

/**
 * COPY, the command, COPY, ...: how long each took, in seconds. `file` is COPY to the server's own /dev/null, `client`
 * the same to a psql that drops it.
 */
async function compare(sql, server, dataDir, args) {
  const copy = async () => {
    const start = performance.now();
    await sql.query(`copy events to '/dev/null'`);
    const file = (performance.now() - start) / 1000;
    return { file, client: (await psqlMs(server, 'copy events to stdout')) / 1000 };
  };
  const [copies, runs] = [[await copy()], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    runs.push(await command(dataDir, ...args));
    copies.push(await copy());
  }
  return { runs, copies, peakMb: Math.max(...runs.map(({ peakMb }) => peakMb)) };
}

/** What the commands say they took, without the start of the process. */
const wholeOf = ({ said }) => Number(/ in ([\d.]+) s/.exec(said)[1]);
const foldingOf = ({ said }) => Number(/, ([\d.]+) s of it/.exec(said)[1]);

const ratesOf = ({ runs }, secondsOf) => runs.map((run) => EVENTS / secondsOf(run));
/** To the COPYs before and after. */
const ratiosOf = ({ runs, copies }, secondsOf, kind) =>
  runs.map((run, n) => (copies[n][kind] + copies[n + 1][kind]) / 2 / secondsOf(run));

const perSecond = (rates) => `${Math.round(middle(rates)).toLocaleString('en')}/s (${range(rates, 0)})`;
const ratio = (ratios) => `${middle(ratios).toFixed(2)} (${range(ratios, 2)})`;
const row = (what, measured, goal, ok = true) => ({ what, measured, goal, ok });

/** Writes and reads over HTTP while `work` runs: how many requests, how many failed, and the longest time without an answer. */
async function underLoad(url, work) {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ hostports: ['1.tcp.example.com:20000'], description: 'load' });
  const requests = [
    { method: 'POST', path: '/edges/tcp', body },
    { method: 'GET', path: '/edges/tcp?limit=2' },
  ];
  const load = autocannon({ url, connections: CONNECTIONS, duration: 3600, headers, requests });
  // The first requests are those of a cold process.
  await new Promise((resolve) => setTimeout(resolve, 3000));
  let [longestMs, answered, failed, last] = [0, 0, 0, performance.now()];
  load.on('response', (_client, status) => {
    const now = performance.now();
    longestMs = Math.max(longestMs, now - last);
    last = now;
    answered += 1;
    if (status >= 300) failed += 1;
  });
  load.on('reqError', () => {
    failed += 1;
  });
  const start = performance.now();
  let seconds = 0;
  try {
    await work();
    seconds = (performance.now() - start) / 1000;
  } finally {
    load.stop();
    await load;
  }
  return { answered, failed, seconds, longestMs: Math.round(longestMs) };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const service = await startService();
  const server = await findRunningPostgres(service.dataDir);
  const sql = new pg.Client({ ...server, database: 'postgres' });
  await sql.connect();
  try {
    return await rowsOf(service, server, sql);
  } finally {
    await sql.end();
    await service.stop();
    await service.clean();
  }
}

async function rowsOf({ url, dataDir }, server, sql) {
  await writeManyEvents(sql, EVENTS);
  // Else the first runs are measured while PostgreSQL still writes these events to disk.
  await sql.query('checkpoint');
  const measure = (...args) => compare(sql, server, dataDir, args);
  const rebuilt = await measure('projections', 'rebuild');
  const proven = await measure('projections', 'prove');
  const verified = await measure('audit', 'verify');
  const exported = await measure('audit', 'export', '--account', ACCOUNT);
  const imports = await importBesideReplay(sql, server, dataDir);
  const pauses = [];
  const busy = await underLoad(url, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      const { said } = await command(dataDir, 'projections', 'rebuild');
      pauses.push(Number(/longer than (\d+) ms/.exec(said)[1]));
    }
  });
  const calm = await underLoad(url, () => new Promise((resolve) => setTimeout(resolve, busy.seconds * 1000)));
  const folding = ratesOf(rebuilt, foldingOf);
  const againstFile = ratiosOf(rebuilt, foldingOf, 'file');
  const againstClient = ratiosOf(rebuilt, foldingOf, 'client');
  const [proving, verifying] = [ratesOf(proven, wholeOf), ratesOf(verified, wholeOf)];
  const comparing = ratesOf(proven, foldingOf);
  const importing = imports.map(({ imported }) => EVENTS / wholeOf(imported));
  const importAgainst = (secondsOf) => imports.map(({ replayed, imported }) => secondsOf(replayed) / wholeOf(imported));
  const ofReplay = importAgainst(foldingOf);
  return [
    row(`replay of ${EVENTS} events into shadow tables`, perSecond(folding), '>= 30,000/s', middle(folding) >= 30_000),
    row('replay, against COPY of the events to a client that drops them', ratio(againstClient), 'none'),
    row("replay, against COPY of the events to the server's own /dev/null", ratio(againstFile), 'none'),
    row('projections rebuild: replay, indexes and swap', perSecond(ratesOf(rebuilt, wholeOf)), 'none'),
    row(
      'projections prove: events folded and compared with the rows',
      perSecond(comparing),
      '>= 30,000/s',
      middle(comparing) >= 30_000,
    ),
    row('projections prove, with the checks of audit verify, which it makes first', perSecond(proving), 'none'),
    row('audit verify', perSecond(verifying), '>= 20,000/s', middle(verifying) >= 20_000),
    row('audit export, with the start of the command', perSecond(ratesOf(exported, ({ seconds }) => seconds)), 'none'),
    row(
      'audit import into a database without events, without its proof',
      perSecond(importing),
      '>= 10,000/s',
      middle(importing) >= 10_000,
    ),
    row('audit import, against replay of the same log', ratio(ofReplay), 'none'),
    row(
      'audit import, against a whole rebuild of the same log, which builds indexes too',
      ratio(importAgainst(wholeOf)),
      'none',
    ),
    row(
      'most memory of rebuild, prove, verify, export, import with its proof',
      [rebuilt, proven, verified, exported, { peakMb: Math.max(...imports.map(({ imported }) => imported.peakMb)) }]
        .map(({ peakMb }) => `${peakMb} MB`)
        .join(', '),
      'bounded',
    ),
    row(
      `rebuild under load of ${CONNECTIONS} connections: failed requests`,
      `${busy.failed} of ${busy.answered}`,
      '0',
      busy.failed === 0,
    ),
    row(
      'the longest that anybody waited for a table that was swapped',
      `${Math.max(...pauses)} ms (${ROUNDS} rebuilds: ${pauses.join(', ')} ms)`,
      '<= 50 ms',
      Math.max(...pauses) <= 50,
    ),
    row(
      'the longest time without an answer meanwhile',
      `${busy.longestMs} ms (${calm.longestMs} ms in as long without a rebuild: ${Math.round(busy.seconds)} s)`,
      '<= 50 ms',
      busy.longestMs <= 50,
    ),
  ];
}
