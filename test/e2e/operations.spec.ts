import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { eventually } from '../support/eventually.js';
import { stopAtEnd } from '../support/leftovers.js';
import { CLI } from '../support/process.js';
import { ADMIN_KEY } from '../support/service.js';

jest.setTimeout(120_000);
const ROOT = new URL('../..', import.meta.url).pathname;

let dataDir: string;
/** A stopped cluster with the tables. Each test has a copy: to make one takes longer than all that a test does with it. */
let template: string;

async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-operations-'));
  // As root the embedded server runs as another user, which must be able to enter the folder.
  await chmod(folder, 0o711);
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  return folder;
}

beforeAll(async () => {
  template = await newFolder();
  dataDir = template;
  const { child } = await startWith(...NODE);
  child.kill('SIGTERM');
  await once(child, 'exit');
});
beforeEach(async () => {
  dataDir = await newFolder();
  await promisify(execFile)('cp', ['-a', `${template}/.`, dataDir]);
});
afterEach(() => rm(dataDir, { recursive: true, force: true }));

interface Running {
  readonly child: ChildProcess;
  readonly url: string;
  readonly databasePid: number;
}

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

/** Starts the service with a program that starts it, such as npm or a terminal. */
async function startWith(program: string, ...args: string[]): Promise<Running> {
  const settings = { PORT: '0', DATA_DIR: dataDir, BOOTSTRAP_API_KEY: ADMIN_KEY };
  const env = { PATH: process.env.PATH, HOME: process.env.HOME, ...settings };
  const child = spawn(program, args, { cwd: ROOT, env, stdio: ['ignore', 'pipe', 'inherit'] });
  stopAtEnd(async () => void child.kill('SIGKILL'));
  let output = '';
  child.stdout.on('data', (data) => {
    output += data;
  });
  await eventually(() => expect(output).toMatch(/ready at http/), 60_000);
  const [, url = ''] = /ready at (http:\/\/[\d.:]+)/.exec(output) ?? [];
  // A terminal does not show where the data is.
  const [, cluster = join(dataDir, 'postgres')] = /data":"([^\s"]+)/.exec(output) ?? [];
  const [pid] = (await readFile(join(cluster, 'postmaster.pid'), 'utf8')).split('\n');
  return { child, url, databasePid: Number(pid) };
}

const NODE = [process.execPath, 'dist/src/main.js'] as const;

const isListening = (url: string): Promise<boolean> =>
  fetch(url).then(
    () => true,
    () => false,
  );

describe('the service and its embedded database end together', () => {
  // test/program/start.spec.ts ends by SIGINT and by SIGTERM.
  it('in good order after SIGHUP', async () => {
    const { child, databasePid } = await startWith(...NODE);
    child.kill('SIGHUP');
    expect(await once(child, 'exit')).toEqual([0, null]);
    expect(isAlive(databasePid)).toBe(false);
  });

  it('when npm, which started the service, is told to stop', async () => {
    const { child, url, databasePid } = await startWith('npm', 'start', '--ignore-scripts');
    child.kill('SIGTERM');
    await once(child, 'exit');
    await eventually(() => expect(isAlive(databasePid)).toBe(false), 60_000);
    expect(await isListening(url)).toBe(false);
  });

  it('when the terminal is closed', async () => {
    const { child, url, databasePid } = await startWith('script', '-qec', NODE.join(' '), '/dev/null');
    child.kill('SIGKILL');
    await eventually(() => expect(isAlive(databasePid)).toBe(false), 60_000);
    expect(await isListening(url)).toBe(false);
  });
});

describe('a command on the embedded database', () => {
  it('ends with its terminal, and its database with it', async () => {
    const env = { PATH: process.env.PATH, HOME: process.env.HOME, DATA_DIR: dataDir };
    const command = spawn(process.execPath, [CLI, 'audit', 'tail', '--follow'], { env, stdio: 'ignore' });
    let pid = 0;
    const pidFile = join(dataDir, 'postgres', 'postmaster.pid');
    while (pid === 0) {
      await sleep(25);
      const text = await readFile(pidFile, 'utf8').catch(() => '');
      if (/ready/.test(text)) pid = Number(text.split('\n')[0]);
    }
    command.kill('SIGHUP');
    await once(command, 'exit');
    expect(isAlive(pid)).toBe(false);
  });
});
