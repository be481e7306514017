/**
 * Runs the operator's commands on a million events, each in its own process: repair, prove, verify, export and import.
 * It also measures what callers notice of a repair. `EVENTS=100000` makes a short run.
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
import { API_KEY, startService } from './programs.mjs';

const EVENTS = Number(process.env.EVENTS ?? 1_000_000);
const ROUNDS = 3;
const CONNECTIONS = 32;
const CLI = new URL('../dist/src/operator/cli.js', import.meta.url).pathname;

const range = (numbers, digits) => `${Math.min(...numbers).toFixed(digits)}-${Math.max(...numbers).toFixed(digits)}`;

const command = (dataDir, ...args) => runCommand({ DATA_DIR: dataDir }, args);

/** Runs a command, and returns its time, its peak of memory and its stderr. `stdout` is a file for its output. */
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

/** Imports the same log into new databases. */
async function imports(sql, server, dataDir) {
  const path = join(dirname(dataDir), 'log.ndjson');
  const file = await open(path, 'w');
  await runCommand({ DATA_DIR: dataDir }, ['audit', 'export', '--account', ACCOUNT], file.fd);
  await file.close();
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) {
    await sql.query('create database imported');
    const DATABASE_URL = `postgres:///imported?host=${server.host}&port=${server.port}&user=${server.user}`;
    await runCommand({ DATABASE_URL }, ['migrate']);
    runs.push(await runCommand({ DATABASE_URL }, ['audit', 'import', path]));
    await sql.query('drop database imported');
  }
  return runs;
}

async function repeated(dataDir, ...args) {
  const runs = [];
  for (let round = 0; round < ROUNDS; round += 1) runs.push(await command(dataDir, ...args));
  return runs;
}

/** The time that a command reports, without the start of its process. */
const wholeOf = ({ said }) => Number(/ in ([\d.]+) s/.exec(said)[1]);
const foldingOf = ({ said }) => Number(/, ([\d.]+) s of it/.exec(said)[1]);
const heldOf = ({ said }) => Number(/longer than (\d+) ms/.exec(said)[1]);

const ratesOf = (runs, secondsOf) => runs.map((run) => EVENTS / secondsOf(run));
const peakOf = (runs) => `${Math.max(...runs.map(({ peakMb }) => peakMb))} MB`;

const perSecond = (rates) => `${Math.round(middle(rates)).toLocaleString('en')}/s (${range(rates, 0)})`;
const row = (what, measured, goal, ok = true) => ({ what, measured, goal, ok });

/**
 * Writes and reads over HTTP while `work` runs. Returns the requests, the failures and the longest time without an
 * answer.
 */
async function underLoad(url, work) {
  const headers = { authorization: `Bearer ${API_KEY}`, 'content-type': 'application/json' };
  const body = JSON.stringify({ hostports: ['1.tcp.example.com:20000'], description: 'load' });
  const requests = [
    { method: 'POST', path: '/edges/tcp', body },
    { method: 'GET', path: '/edges/tcp?limit=2' },
  ];
  const load = autocannon({ url, connections: CONNECTIONS, duration: 3600, headers, requests });
  // The first requests would be slow, because the process is cold.
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

/** Edits a tenth of the rows, as someone could who may write the tables. */
const EDIT = `update ssh_credentials set metadata = 'edited' where right(id, 1) = '1'`;

async function rowsOf({ url, dataDir }, server, sql) {
  await writeManyEvents(sql, EVENTS);
  // Otherwise PostgreSQL would still write these events to disk during the first runs.
  await sql.query('checkpoint');
  // The log has no rows yet.
  const filled = await command(dataDir, 'projections', 'repair');
  const repaired = await repeated(dataDir, 'projections', 'repair');
  const proven = await repeated(dataDir, 'projections', 'prove');
  const verified = await repeated(dataDir, 'audit', 'verify');
  const exported = await repeated(dataDir, 'audit', 'export', '--account', ACCOUNT);
  const imported = await imports(sql, server, dataDir);
  const underRepair = [];
  const busy = await underLoad(url, async () => {
    for (let round = 0; round < ROUNDS; round += 1) {
      await sql.query(EDIT);
      underRepair.push(await command(dataDir, 'projections', 'repair'));
    }
  });
  const calm = await underLoad(url, () => new Promise((resolve) => setTimeout(resolve, busy.seconds * 1000)));
  const repairing = ratesOf(repaired, wholeOf);
  const comparing = ratesOf(proven, foldingOf);
  const verifying = ratesOf(verified, wholeOf);
  const importing = ratesOf(imported, wholeOf);
  const held = [filled, ...underRepair].map(heldOf);
  return [
    row(
      `projections repair of ${EVENTS} events, nothing wrong`,
      perSecond(repairing),
      '>= 30,000/s',
      middle(repairing) >= 30_000,
    ),
    row('projections repair, all rows lost', perSecond(ratesOf([filled], wholeOf)), 'none'),
    row(
      'projections prove: events folded and compared with the rows',
      perSecond(comparing),
      '>= 30,000/s',
      middle(comparing) >= 30_000,
    ),
    row(
      'projections prove, with the checks of audit verify, which it makes first',
      perSecond(ratesOf(proven, wholeOf)),
      'none',
    ),
    row('audit verify', perSecond(verifying), '>= 20,000/s', middle(verifying) >= 20_000),
    row('audit export, with the start of the command', perSecond(ratesOf(exported, ({ seconds }) => seconds)), 'none'),
    row(
      'audit import into a database without events, without its proof',
      perSecond(importing),
      '>= 10,000/s',
      middle(importing) >= 10_000,
    ),
    row(
      'most memory of repair, prove, verify, export, import with its proof',
      [[filled, ...repaired], proven, verified, exported, imported].map(peakOf).join(', '),
      'bounded',
    ),
    row(
      `repairs of a tenth of the rows under load of ${CONNECTIONS} connections: failed requests`,
      `${busy.failed} of ${busy.answered}`,
      '0',
      busy.failed === 0,
    ),
    row(
      'the longest that a repair held a head',
      `${Math.max(...held)} ms (${held.join(', ')} ms)`,
      '<= 100 ms',
      Math.max(...held) <= 100,
    ),
    row(
      'the longest time without an answer meanwhile',
      `${busy.longestMs} ms (${calm.longestMs} ms in as long without a repair: ${Math.round(busy.seconds)} s)`,
      'none',
    ),
  ];
}
