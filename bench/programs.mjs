/** Starts the measured programs, each in its own process. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { findRunningPostgres } from '../dist/src/database/embedded/embedded-postgres.js';

const READY = /ready at (http:\/\/\S+)/;

/** Starts a script and waits until it prints that it is ready. `readyMs` is the time until then. */
export async function startProgram(script, settings = {}) {
  const start = performance.now();
  const [reportCpu, path] = ['report-cpu.mjs', script].map((file) => new URL(file, import.meta.url).pathname);
  const child = spawn(process.execPath, ['--import', reportCpu, path], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  let output = '';
  const url = await new Promise((resolve, reject) => {
    const read = (data) => {
      output += data;
      const found = READY.exec(output)?.[1];
      if (found !== undefined) resolve(found);
    };
    child.stdout.on('data', read);
    child.stderr.on('data', read);
    child.on('close', () => reject(new Error(`${script} ended:\n${output}`)));
  });
  const readyMs = performance.now() - start;
  const stop = async () => {
    const ended = once(child, 'close');
    child.kill('SIGTERM');
    await ended;
  };
  /** The CPU time that the process has taken, in microseconds. */
  const cpuMicros = async () => {
    child.send('cpu');
    const [micros] = await once(child, 'message');
    return micros;
  };
  return { url, readyMs, pid: child.pid, cpuMicros, stop };
}

/** The memory of a process that is in RAM, in MB. Linux only. */
export const residentMb = async (pid) =>
  Math.round(Number(/VmRSS:\s+(\d+)/.exec(await readFile(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024);

const MICROS_PER_TICK = 10_000;

/**
 * The CPU time of a process's running children, in microseconds. For a service these are the embedded PostgreSQL. Linux
 * only.
 */
export async function cpuMicrosOfChildren(pid) {
  const running = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const stats = await Promise.all(running.map((id) => readFile(`/proc/${id}/stat`, 'utf8').catch(() => '')));
  // After the name in brackets: state, parent, and from the twelfth on user and system time, of itself and of ended
  // children.
  const processes = stats.map((stat) => [Number.parseInt(stat, 10), stat.slice(stat.lastIndexOf(')') + 2).split(' ')]);
  const children = processes.filter(([, fields]) => Number(fields[1]) === pid);
  const times = children.map(async ([id, fields]) => {
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return ticks * MICROS_PER_TICK + (await cpuMicrosOfChildren(id));
  });
  return (await Promise.all(times)).reduce((sum, micros) => sum + micros, 0);
}

export const API_KEY = 'a-key-for-the-bench';

/** A free port of the loopback address. */
export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** The service on an embedded database in a new folder. `again` starts it once more on the same data. */
export async function startService(settings = {}) {
  const folder = await mkdtemp(join(tmpdir(), 'bench-'));
  await chmod(folder, 0o711);
  const all = {
    PORT: '0',
    DATA_DIR: join(folder, 'data'),
    BOOTSTRAP_API_KEY: API_KEY,
    LOG_LEVEL: 'error',
    ...settings,
  };
  const start = () => startProgram('../dist/src/main.js', all);
  const first = await start();
  return { ...first, dataDir: all.DATA_DIR, again: start, clean: () => rm(folder, { recursive: true, force: true }) };
}

/**
 * Runs `work` with a client of a service's embedded database. The client ends before its server, because the error of a
 * lost connection would end the bench.
 */
export async function onServer(dataDir, work) {
  const client = new pg.Client({ ...(await findRunningPostgres(dataDir)), database: 'postgres' });
  await client.connect();
  try {
    return await work(client);
  } finally {
    await client.end();
  }
}

/** The time in ms that psql takes to run a statement and discard the result. */
export async function psqlMs({ host, port, user }, sql) {
  const start = performance.now();
  const child = spawn('psql', ['-X', '-At', '-h', host, '-p', String(port), '-U', user, '-d', 'postgres', '-c', sql], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  child.stdout.resume();
  const [code] = await once(child, 'close');
  if (code !== 0) throw new Error(`psql ended with ${code}`);
  return performance.now() - start;
}
