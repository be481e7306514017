import { type ChildProcess, spawn } from 'node:child_process';
import { totalmem } from 'node:os';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeSpawnError, POSTGRES_ENV } from './binaries.js';
import type { ClusterLocation } from './location.js';
import { identifyingArguments, readPidFile } from './postmaster.js';
import { POSTGRES_PORT } from './socket.js';

/** After a crash PostgreSQL replays its log since the last checkpoint. On a slow disk this takes a minute. */
const START_DEADLINE_MS = 120_000;
const STILL_WAITING_MS = 5_000;
const POLL_MS = 15;
const TAIL_CHARACTERS = 4_000;
/** PostgreSQL's own default. */
const MIN_CONNECTIONS = 100;
/** Connections in addition to the pools: for commands, long work and the server's own reserve. */
const FURTHER_CONNECTIONS = 20;
const MIN_SHARED_BUFFERS_MB = 128;
/** This holds the pages that a busy service uses. The operating system caches the files too. */
const MAX_SHARED_BUFFERS_MB = 1024;
/** Its input ends when the service ends in any way. Then it asks the server for a fast shutdown. */
const LIFELINE = ['-c', 'read -r _; kill -INT "$1"', 'tunnel-access-lifeline'];

export interface ServerOptions {
  readonly postgres: string;
  readonly location: ClusterLocation;
  readonly socketFolder: string;
  readonly log: (line: string) => void;
  /** Connections that the pools of the service may open. Absent: few. */
  readonly pooled?: number | undefined;
}

/** A server process that this process started. */
export interface PostgresServer {
  readonly pid: number;
  /** Resolves with the exit code when the server ends for any reason. */
  readonly exited: Promise<number>;
  /** Fast shutdown (SIGINT); resolves when the server process has ended. Idempotent. */
  stop(): Promise<void>;
}

/**
 * Starts a server. Resolves with the server when it accepts connections, or with the end of its output if it does not.
 * `stalePid` is a process that a stale postmaster.pid names, and that is no server of this cluster.
 */
export async function startServer(
  options: ServerOptions,
  stalePid: number | undefined,
): Promise<PostgresServer | { readonly failure: string }> {
  const child = spawnServer(options, await identifyingArguments(options.location.dir), stalePid);
  let output = '';
  const addLine = (line: string): void => {
    output = `${output}${line}\n`.slice(-TAIL_CHARACTERS);
    options.log(line);
  };
  createInterface({ input: child.stderr }).on('line', addLine);
  child.once('error', (error) => addLine(describeSpawnError(error)));
  const outputEnded = new Promise((resolve) => child.once('close', resolve));
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code) => resolve(code ?? 1));
    child.once('error', () => resolve(1));
  });
  const stop = async (): Promise<void> => {
    child.kill('SIGINT');
    await exited;
  };
  if (child.pid !== undefined) {
    const lifeline = stopWithService(child.pid, options);
    void exited.then(() => lifeline.kill('SIGKILL'));
    if (await becomesReady(child, options)) return { pid: child.pid, exited, stop };
    await stop();
  }
  await outputEnded;
  return { failure: output };
}

function spawnServer(
  { postgres, location, socketFolder, pooled = 0 }: ServerOptions,
  identifying: readonly string[],
  stalePid: number | undefined,
) {
  // Without TCP only the serving user and root can connect. fsync and synchronous_commit keep their safe defaults.
  const settings = Object.entries({
    listen_addresses: '',
    port: POSTGRES_PORT,
    unix_socket_directories: socketFolder,
    unix_socket_permissions: '0700',
    // The service reports errors of its statements itself; PostgreSQL would log the whole statement.
    log_min_messages: 'log',
    log_error_verbosity: 'terse',
    shared_buffers: `${sharedBuffersMb()}MB`,
    max_connections: Math.max(MIN_CONNECTIONS, pooled + FURTHER_CONNECTIONS),
  }).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
  return spawn(postgres, [...identifying, ...settings], {
    ...location.user,
    // PostgreSQL takes the process in postmaster.pid for a server, unless this variable of pg_ctl names it.
    env: { ...POSTGRES_ENV, ...(stalePid && { PG_GRANDPARENT_PID: String(stalePid) }) },
    cwd: '/',
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true, // Ctrl-C in a terminal signals the whole group, but the service must stop first
  });
}

/**
 * Size of PostgreSQL's `shared_buffers`: an eighth of the memory of the machine or the container, within limits.
 * PostgreSQL's documentation advises a quarter, but for a dedicated machine. Only pages that hold data occupy memory.
 */
export function sharedBuffersMb(
  // Without a limit Node reports 0, undefined or a huge number.
  memoryBytes = Math.min(process.constrainedMemory() || Number.POSITIVE_INFINITY, totalmem()),
): number {
  const share = Math.floor(memoryBytes / 8 / 2 ** 20);
  return Math.min(Math.max(share, MIN_SHARED_BUFFERS_MB), MAX_SHARED_BUFFERS_MB);
}

/** Resolves with false if the server has ended, or if the deadline has passed. */
async function becomesReady(child: ChildProcess, { location, log }: ServerOptions): Promise<boolean> {
  let [waitedMs, nextLineMs] = [0, STILL_WAITING_MS];
  for (const startMs = Date.now(); waitedMs < START_DEADLINE_MS; waitedMs = Date.now() - startMs) {
    const file = await readPidFile(location.dir);
    if (file?.pid === child.pid && file?.isReady) return true;
    if (child.exitCode !== null || child.signalCode !== null) return false;
    if (waitedMs >= nextLineMs) {
      const waited = `${Math.round(waitedMs / 1000)} s`;
      log(`PostgreSQL is not ready after ${waited}, perhaps recovering from a crash; waiting`);
      nextLineMs += STILL_WAITING_MS;
    }
    await sleep(POLL_MS);
  }
  return false;
}

/** Ends the server with this process, even if the process ends without `stop`: by an uncaught error or by SIGKILL. */
function stopWithService(pid: number, { location, log }: ServerOptions): ChildProcess {
  const lifeline = spawn('/bin/sh', [...LIFELINE, String(pid)], {
    ...location.user,
    cwd: '/',
    stdio: ['pipe', 'ignore', 'ignore'],
    detached: true,
  });
  lifeline.on('error', ({ message }) => log(`PostgreSQL would outlive a killed service: ${message}`));
  lifeline.unref();
  return lifeline;
}
