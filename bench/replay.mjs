/**
 * A million events: rebuild, prove, verify and export by the operator's commands, each in a process of its own, beside
 * PostgreSQL's COPY of the same events to nowhere; and what callers notice of a rebuild. `EVENTS=100000` for a short run.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import autocannon from 'autocannon';
import pg from 'pg';
import { findRunningPostgres } from '../dist/src/database/embedded/embedded-postgres.js';
import { writeManyEvents } from './many-events.mjs';
import { API_KEY, startService } from './programs.mjs';

const EVENTS = Number(process.env.EVENTS ?? 1_000_000);
const ROUNDS = 3;
const CONNECTIONS = 32;
const CLI = new URL('../dist/src/cli.js', import.meta.url).pathname;

const middle = (numbers) => [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)];
const range = (numbers, digits) => `${Math.min(...numbers).toFixed(digits)}-${Math.max(...numbers).toFixed(digits)}`;

/** Runs a command to its end: how long it took, the most memory it held, what it said. */
async function command(dataDir, ...args) {
  const start = performance.now();
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir };
  const child = spawn(process.execPath, [CLI, ...args], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  let [peakMb, said] = [0, ''];
  child.stdout.resume();
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

/** COPY, the command, COPY, ...: rates a second and their ratios to the COPYs before and after. */
async function compare(sql, dataDir, args, rateOf = ({ seconds }) => EVENTS / seconds) {
  const copy = async () => {
    const start = performance.now();
    await sql.query(`copy events to '/dev/null'`);
    return EVENTS / ((performance.now() - start) / 1000);
  };
  const [copies, rates, peaks] = [[await copy()], [], []];
  for (let round = 0; round < ROUNDS; round += 1) {
    const run = await command(dataDir, ...args);
    rates.push(rateOf(run));
    peaks.push(run.peakMb);
    copies.push(await copy());
  }
  const ratios = rates.map((rate, n) => rate / ((copies[n] + copies[n + 1]) / 2));
  return { rates, ratios, peakMb: Math.max(...peaks) };
}

const perSecond = ({ rates }) => `${Math.round(middle(rates)).toLocaleString('en')}/s (${range(rates, 0)})`;
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
  await work();
  load.stop();
  await load;
  return { answered, failed, longestMs: Math.round(longestMs) };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  const service = await startService();
  const { dataDir } = service;
  const server = await findRunningPostgres(dataDir);
  const sql = new pg.Client({ ...server, database: 'postgres' });
  await sql.connect();
  await writeManyEvents(sql, EVENTS);
  const filling = ({ said }) => EVENTS / Number(/, ([\d.]+) s of it/.exec(said)[1]);
  const rebuilt = await compare(sql, dataDir, ['projections', 'rebuild']);
  const folded = await compare(sql, dataDir, ['projections', 'rebuild'], filling);
  const proven = await compare(sql, dataDir, ['projections', 'prove']);
  const verified = await compare(sql, dataDir, ['audit', 'verify']);
  const exported = await compare(sql, dataDir, ['audit', 'export', '--account', 'ac_000000000000000000000Bench1']);
  const calm = await underLoad(service.url, () => new Promise((resolve) => setTimeout(resolve, 10_000)));
  const busy = await underLoad(service.url, () => command(dataDir, 'projections', 'rebuild'));
  await sql.end();
  await service.stop();
  await service.clean();
  const copyRatio = middle(folded.ratios);
  return [
    row(
      `replay of ${EVENTS} events into shadow tables, against COPY of them to nowhere`,
      `${copyRatio.toFixed(2)} (${range(folded.ratios, 2)}; ${perSecond(folded)})`,
      '>= 0.4, >= 100,000/s',
      copyRatio >= 0.4 && middle(folded.rates) >= 100_000,
    ),
    row('the same with indexes, swap and the start of the command', perSecond(rebuilt), 'none'),
    row('projections prove', perSecond(proven), '>= 150,000/s', middle(proven.rates) >= 150_000),
    row('audit verify', perSecond(verified), '>= 150,000/s', middle(verified.rates) >= 150_000),
    row('audit export', perSecond(exported), 'none'),
    row(
      'most memory of rebuild, prove, verify, export',
      [rebuilt, proven, verified, exported].map(({ peakMb }) => `${peakMb} MB`).join(', '),
      'bounded',
    ),
    row(
      `rebuild under load of ${CONNECTIONS} connections: failed requests`,
      `${busy.failed} of ${busy.answered}`,
      '0',
      busy.failed === 0,
    ),
    row(
      'the longest time without an answer meanwhile',
      `${busy.longestMs} ms (${calm.longestMs} ms in 10 s of the same load without a rebuild)`,
      '<= 50 ms',
      busy.longestMs <= 50,
    ),
  ];
}
