import { type ChildProcess, spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { hint, POSTGRES_ENV } from './binaries.js';
import type { Place } from './cluster-location.js';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';
import { sharedBuffersMb } from './memory.js';
import { markedArguments, readPidFile } from './postmaster.js';
import { POSTGRES_PORT } from './socket.js';

/** Recovery after a crash replays the log since the last checkpoint; on a slow disk that takes a minute. */
const START_DEADLINE_MS = 120_000;
const STILL_WAITING_MS = 5_000;
const POLL_MS = 15;
const TAIL_CHARACTERS = 4_000;

/** No TCP: nobody but the serving user and root reaches the server. fsync and synchronous_commit stay at their safe defaults. */
const SETTINGS = {
  listen_addresses: '',
  port: POSTGRES_PORT,
  unix_socket_permissions: '0700',
  max_connections: 100,
  // What a statement of ours does wrong is ours to report; PostgreSQL would print the statement, line by line.
  log_min_messages: 'log',
  log_error_verbosity: 'terse',
  shared_buffers: `${sharedBuffersMb()}MB`,
};

export interface ServerOptions {
  readonly postgres: string;
  readonly place: Place;
  readonly socketFolder: string;
  /** The process a stale postmaster.pid names, known to be no server of this cluster. */
  readonly stalePid: number | undefined;
  readonly log: (line: string) => void;
}

/** One server process, from spawn to end. */
export class PostgresServer {
  readonly exited: Promise<number>;
  /** It has ended, and its last words are in `tail`. */
  private isSilent = false;
  /** The end of what it said, for error messages. */
  tail = '';

  private constructor(
    private readonly child: ChildProcess,
    private readonly options: ServerOptions,
  ) {
    if (child.stderr) createInterface({ input: child.stderr }).on('line', (line) => this.hear(line));
    child.once('close', () => {
      this.isSilent = true;
    });
    this.exited = new Promise((resolve) => {
      child.once('exit', (code) => resolve(code ?? 1));
      child.once('error', (error) => {
        this.hear(hint(error));
        resolve(1);
      });
    });
    this.stopWithUs();
  }

  static async spawn(options: ServerOptions): Promise<PostgresServer> {
    const { postgres, place, socketFolder, stalePid } = options;
    const settings = Object.entries(SETTINGS).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    const marked = await markedArguments(place.dir);
    // PostgreSQL takes the lock file of any living process for a server's, except this one's: how pg_ctl tells it about reused pids.
    const env = { ...POSTGRES_ENV, ...(stalePid && { PG_GRANDPARENT_PID: String(stalePid) }) };
    const child = spawn(postgres, [...marked, '-k', socketFolder, ...settings], {
      ...place.user,
      env,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      detached: true, // Ctrl-C in a terminal goes to the whole group, and we want to stop first
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

  /** Whether it came to accept connections; false when it ended instead. */
  async becameReady(): Promise<boolean> {
    const startMs = Date.now();
    for (let nextLineMs = STILL_WAITING_MS; !this.isSilent; await sleep(POLL_MS)) {
      const file = await readPidFile(this.options.place.dir);
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
      `PostgreSQL was not ready within ${START_DEADLINE_MS / 1000} s in ${this.options.place.dir}. It said:\n${this.tail}`,
    );
  }

  private hear(line: string): void {
    this.tail = `${this.tail}${line}\n`.slice(-TAIL_CHARACTERS);
    this.options.log(line);
  }

  /** When this process ends without `stop`, be it by an uncaught error, the server is told to end too; only SIGKILL leaves an orphan. */
  private stopWithUs(): void {
    const stop = () => this.child.kill('SIGINT');
    process.once('exit', stop);
    this.exited.then(() => process.off('exit', stop));
  }
}
