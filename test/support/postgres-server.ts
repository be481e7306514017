import { type ChildProcess, execFile, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync } from 'node:fs';
import { chmod, chown, mkdtemp, readlink, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from './free-port.js';
import { stopAtEnd } from './leftovers.js';

const run = promisify(execFile);
const HOST = '127.0.0.1';

/** The folder of Debian's newest PostgreSQL. Unlike the embedded one it can make standbys. */
function programs(): string {
  const [newest] = readdirSync('/usr/lib/postgresql').sort((a, b) => Number(b) - Number(a));
  return `/usr/lib/postgresql/${newest}/bin`;
}

/** PostgreSQL refuses to run as root, so root runs it as the user of Debian's package. */
export function unprivileged(): { uid?: number; gid?: number } {
  if (process.getuid?.() !== 0) return {};
  const idOf = (flag: string): number => Number(execFileSync('id', [flag, 'postgres'], { encoding: 'utf8' }));
  return { uid: idOf('-u'), gid: idOf('-g') };
}

/** A folder of the user who runs the servers. */
async function newFolder(): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'tas-postgres-'));
  const { uid, gid } = unprivileged();
  if (uid !== undefined && gid !== undefined) await chown(folder, uid, gid);
  await chmod(folder, 0o700);
  return folder;
}

/** An empty cluster. Each server of a test file begins as a copy of it. */
let template: Promise<string> | undefined;

async function makeTemplate(): Promise<string> {
  const folder = await newFolder();
  stopAtEnd(() => rm(folder, { recursive: true, force: true }));
  const options = ['-U', 'postgres', '--auth=trust', '--encoding=UTF8', '--locale=C', '--no-sync'];
  await run(join(programs(), 'initdb'), ['-D', join(folder, 'data'), ...options], unprivileged());
  return join(folder, 'data');
}

/** A real PostgreSQL server of a test, on a TCP port of loopback. */
export class PostgresServer {
  private child: ChildProcess | undefined;

  private constructor(
    private readonly folder: string,
    readonly port: number,
  ) {}

  /** Starts an empty server with these settings. */
  static async primary(...settings: string[]): Promise<PostgresServer> {
    const server = await PostgresServer.create();
    template ??= makeTemplate();
    await run('cp', ['-a', await template, server.data], unprivileged());
    await server.start(...settings);
    return server;
  }

  /** Starts a standby of this server. `name`: the name in synchronous_standby_names. */
  async addStandby(name: string, ...settings: string[]): Promise<PostgresServer> {
    const standby = await PostgresServer.create();
    const source = `host=${HOST} port=${this.port} user=postgres application_name=${name}`;
    const options = ['-d', source, '-R', '--checkpoint=fast', '--no-sync'];
    await run(join(programs(), 'pg_basebackup'), ['-D', standby.data, ...options], unprivileged());
    await standby.start(...settings);
    return standby;
  }

  private static async create(): Promise<PostgresServer> {
    const server = new PostgresServer(await newFolder(), await freePort(HOST));
    stopAtEnd(() => server.remove());
    return server;
  }

  private get data(): string {
    return join(this.folder, 'data');
  }

  get host(): string {
    return `${HOST}:${this.port}`;
  }

  url = (database = 'postgres'): string => `postgres://postgres@${this.host}/${database}`;

  async start(...settings: string[]): Promise<void> {
    const all = [`port=${this.port}`, `listen_addresses=${HOST}`, `unix_socket_directories=${this.folder}`];
    const common = ['fsync=off', 'shared_buffers=16MB', 'max_connections=60', 'hot_standby_feedback=on'];
    const args = [...all, ...common, ...settings].flatMap((setting) => ['-c', setting]);
    const options = { ...unprivileged(), stdio: 'ignore' as const };
    this.child = spawn(join(programs(), 'postgres'), ['-D', this.data, ...args], options);
    await this.untilReady();
  }

  private async untilReady(): Promise<void> {
    const deadline = Date.now() + 30_000;
    for (;;) {
      try {
        await this.query('select 1');
        return;
      } catch (error) {
        if (this.child?.exitCode !== null || Date.now() > deadline) throw error;
        await sleep(50);
      }
    }
  }

  // biome-ignore lint/suspicious/noExplicitAny: rows of any shape
  async query(statement: string, database = 'postgres'): Promise<any[]> {
    const client = new pg.Client({ connectionString: this.url(database), connectionTimeoutMillis: 2_000 });
    client.on('error', () => undefined);
    await client.connect();
    try {
      return (await client.query(statement)).rows;
    } finally {
      void client.end();
    }
  }

  /** Copies a database into an empty one, as a backup and a restore do. */
  async copy(from: string, to: string): Promise<void> {
    const file = join(this.folder, `${from}.sql`);
    await run(join(programs(), 'pg_dump'), ['-d', this.url(from), '-f', file], unprivileged());
    await run(
      join(programs(), 'psql'),
      ['-d', this.url(to), '-q', '-v', 'ON_ERROR_STOP=1', '-f', file],
      unprivileged(),
    );
  }

  /** Changes settings of the running server. */
  async set(settings: Readonly<Record<string, string>>): Promise<void> {
    for (const [name, value] of Object.entries(settings)) await this.query(`alter system set ${name} = '${value}'`);
    await this.query('select pg_reload_conf()');
  }

  /** Replaces pg_hba.conf: these lines, and the superuser of this class. */
  async trust(...lines: readonly string[]): Promise<void> {
    const own = 'local all all trust';
    await writeFile(join(this.data, 'pg_hba.conf'), `${[own, ...lines].join('\n')}\n`);
    await this.query('select pg_reload_conf()');
    // The postmaster reloads its settings when it gets the signal.
    await sleep(300);
  }

  /** Waits until the standby of this name confirms commits. */
  async untilSynchronous(name: string): Promise<void> {
    const statement = `select 1 from pg_stat_replication where application_name = '${name}' and sync_state = 'sync'`;
    while ((await this.query(statement)).length === 0) await sleep(50);
  }

  async promote(): Promise<void> {
    await this.query('select pg_promote()');
    while ((await this.query('select pg_is_in_recovery() as standby'))[0].standby) await sleep(20);
  }

  /** `SIGQUIT` leaves what a crash leaves. `SIGKILL` ends only the postmaster, and its children notice that. */
  async kill(signal: NodeJS.Signals = 'SIGQUIT'): Promise<void> {
    const { child } = this;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill(signal);
    await ended;
    // The children hold the shared memory until they have noticed the end of the postmaster.
    while ((await this.children()).length > 0) await sleep(20);
  }

  /** Pauses all processes of the server. */
  pause = (): Promise<void> => this.signalAll('SIGSTOP');
  resume = (): Promise<void> => this.signalAll('SIGCONT');

  /** The postmaster may have started a backend while its children were read, so they are read until none is new. */
  private async signalAll(signal: NodeJS.Signals): Promise<void> {
    const signalled = new Set<number>();
    for (;;) {
      const added = (await this.children()).filter((pid) => !signalled.has(pid));
      if (added.length === 0) return;
      for (const pid of added) {
        signalled.add(pid);
        try {
          process.kill(pid, signal);
        } catch (error) {
          // A backend may end at any moment.
          if ((error as NodeJS.ErrnoException).code !== 'ESRCH') throw error;
        }
      }
    }
  }

  /** The processes that have the data folder as their working directory. */
  private async children(): Promise<number[]> {
    const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name));
    const folders = await Promise.all(pids.map((pid) => readlink(`/proc/${pid}/cwd`).catch(() => undefined)));
    return pids.filter((_, n) => folders[n] === this.data).map(Number);
  }

  private async remove(): Promise<void> {
    await this.resume();
    await this.kill();
    await rm(this.folder, { recursive: true, force: true });
  }
}
