/** Starts the programs that are measured, each in a process of its own. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const READY = /ready at (http:\/\/\S+)/;

/** Runs a script until it says it is ready. `readyMs` is from spawn to that line. */
export async function startProgram(script, settings = {}) {
  const start = performance.now();
  const path = new URL(script, import.meta.url).pathname;
  const child = spawn(process.execPath, [path], {
    env: { PATH: process.env.PATH, HOME: process.env.HOME, ...settings },
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
  return { url, readyMs, pid: child.pid, stop };
}

export const API_KEY = 'a-key-for-the-bench';

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

/** How long psql takes to run a statement and drop what it answers, in ms. */
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
