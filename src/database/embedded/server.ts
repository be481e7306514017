import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { describeSpawnError, POSTGRES_ENV } from './binaries.js';
import type { ClusterLocation } from './cluster-location.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { sharedBuffersMb } from './memory.js';
import { identifyingArguments, readPidFile } from './postmaster.js';
import { POSTGRES_PORT } from './socket.js';

/** Crash recovery replays PostgreSQL's log since the last checkpoint, which takes a minute on a slow disk. */
const START_DEADLINE_MS = 120_000;
const STILL_WAITING_MS = 5_000;
const POLL_MS = 15;
const TAIL_CHARACTERS = 4_000;
/** Its input ends with the service, however that ends. Then it asks the server for a fast shutdown. */
const LIFELINE = ['-c', 'read -r _; kill -INT "$1"', 'tunnel-access-lifeline'];

/**
 * No TCP, so that only the serving user and root can connect. fsync and synchronous_commit keep their safe defaults.
 */
const SETTINGS = {
  listen_addresses: '',
  port: POSTGRES_PORT,
  unix_socket_permissions: '0700',
  // The service reports errors of its statements itself; PostgreSQL would log the whole statement.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  shared_buffers: `${sharedBuffersMb()}MB`,
};

/** PostgreSQL's default, for the service and the commands beside it. */
const MIN_CONNECTIONS = 100;
/** Beside the pools: for commands, long work and the server's own reserve. */
const FURTHER_CONNECTIONS = 20;

export interface ServerOptions {
  readonly postgres: string;
  readonly location: ClusterLocation;
  readonly socketFolder: string;
  /** The process that a stale postmaster.pid names; it is not a server of this cluster. */
  readonly stalePid: number | undefined;
  readonly log: (line: string) => void;
  /** Connections that the pools of the service may open. Absent: few. */
  readonly pooled?: number | undefined;
}

/** One server process, from spawn to end. */
export class PostgresServer {
  readonly exited: Promise<number>;
  /** The process has ended, and `outputTail` holds the end of its output. */
  private isClosed = false;
  /** The end of its output, for error messages. */
  outputTail = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly options: ServerOptions,
  ) {
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.addOutput(line));
    child.once('close', () => {
      this.isClosed = true;
    });
    this.exited = new Promise((resolve) => {
      child.once('exit', (code) => resolve(code ?? 1));
      child.once('error', (error) => {
        this.addOutput(describeSpawnError(error));
        resolve(1);
      });
    });
    this.stopWithService();
  }

  static async spawn(options: ServerOptions): Promise<PostgresServer> {
    const { postgres, location, socketFolder, stalePid, pooled = 0 } = options;
    const max_connections = Math.max(MIN_CONNECTIONS, pooled + FURTHER_CONNECTIONS);
    const settings = Object.entries({ ...SETTINGS, max_connections }).flatMap(([name, value]) => [
      '-c',
      `${name}=${value}`,
    ]);
    const identifying = await identifyingArguments(location.dir);
    // PostgreSQL takes the process in postmaster.pid for a server unless this variable names it, as pg_ctl does, too.
    const env = { ...POSTGRES_ENV, ...(stalePid && { PG_GRANDPARENT_PID: String(stalePid) }) };
    const child = spawn(postgres, [...identifying, '-k', socketFolder, ...settings], {
      ...location.user,
      env,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // Ctrl-C in a terminal signals the whole group, but the service must stop first
    });
    return new PostgresServer(child, options);
  }

  get pid(): number {
    return this.child.pid ?? 0;
  }

  async stop(): Promise<void> {
    this.child.kill('SIGINT');
    await this.exited;
  }

  /** Resolves with true when the server accepts connections, with false if it ended instead. */
  async waitUntilReady(): Promise<boolean> {
    const startMs = Date.now();
    for (let nextLineMs = STILL_WAITING_MS; !this.isClosed; await sleep(POLL_MS)) {
      const file = await readPidFile(this.options.location.dir);
      if (file?.pid === this.pid && file.isReady) return true;
      const waitedMs = Date.now() - startMs;
      if (waitedMs > START_DEADLINE_MS) await this.giveUp();
      if (waitedMs < nextLineMs) continue;
      this.options.log(
        `PostgreSQL is not ready after ${Math.round(waitedMs / 1000)} s, perhaps recovering from a crash; waiting`,
      );
      nextLineMs += STILL_WAITING_MS;
    }
    return false;
  }

  private async giveUp(): Promise<never> {
    await this.stop();
    throw new EmbeddedPostgresError(
      `PostgreSQL was not ready within ${START_DEADLINE_MS / 1000} s in ${this.options.location.dir}. Its output:\n${this.outputTail}`,
    );
  }

  private addOutput(line: string): void {
    this.outputTail = `${this.outputTail}${line}\n`.slice(-TAIL_CHARACTERS);
    this.options.log(line);
  }

  /** The server never outlives this process, even if that ends without `stop`: by an uncaught error or by SIGKILL. */
  private stopWithService(): void {
    if (this.pid === 0) return;
    const { user } = this.options.location;
    const lifeline = spawn('/bin/sh', [...LIFELINE, String(this.pid)], {
      ...user,
      cwd: '/',
      stdio: ['pipe', 'ignore', 'ignore'],
      detached: true,
    });
    lifeline.on('error', ({ message }) => this.options.log(`PostgreSQL would outlive a killed service: ${message}`));
    lifeline.unref();
    void this.exited.then(() => lifeline.kill('SIGKILL'));
  }
}
