import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { OperatorError } from '../../kernel/operator-error.js';
import { ignoreMissing } from './errors.js';

/** A fast shutdown first writes a checkpoint of PostgreSQL, which takes time. */
const ORPHAN_STOP_MS = 60_000;
const POLL_MS = 25;

/**
 * The server process of a cluster. Its command line names the service that started it, by pid and start time: the
 * server is owned while that process runs, and is an orphan of a crash afterwards. The parent process does not tell
 * this, because an orphan may get any process as its parent, and a lock file does not, because it may be stale.
 */
type Postmaster =
  /** `stalePid` is in postmaster.pid, but is no server of this cluster. The system may have reused the pid. */
  | { readonly kind: 'none'; readonly stalePid: number | undefined }
  | { readonly kind: 'orphan'; readonly pid: number }
  /** `owner` describes who runs the server, for a message. */
  | { readonly kind: 'owned'; readonly owner: string };

/** Finds the server process of the cluster in `dir`. A pid alone does not identify it, since the system reuses pids. */
export async function findPostmaster(dir: string): Promise<Postmaster> {
  const file = await readPidFile(dir);
  if (!file) return { kind: 'none', stalePid: undefined };
  const command = (await findProcess(file.pid))?.command ?? '';
  if (!command.includes(`postgres -D ${dir} `)) {
    if (!(await isListening(file))) return { kind: 'none', stalePid: file.pid };
    const owner = 'a PostgreSQL server that this instance did not start (perhaps one in another container)';
    return { kind: 'owned', owner };
  }
  const [, service] = /tunnel_access\.service=(\S+)/.exec(command) ?? [];
  if (!service) return { kind: 'owned', owner: `a PostgreSQL server started by hand (process ${file.pid})` };
  if (!(await isAlive(service))) return { kind: 'orphan', pid: file.pid };
  return { kind: 'owned', owner: `another instance of the service (process ${Number.parseInt(service, 10)})` };
}

/** Stops an orphaned server, and throws if another server runs. Returns the pid that a stale postmaster.pid names. */
export async function requireNoServer(
  dataDir: string,
  dir: string,
  log: (line: string) => void,
): Promise<number | undefined> {
  const postmaster = await findPostmaster(dir);
  if (postmaster.kind === 'none') return postmaster.stalePid;
  if (postmaster.kind === 'owned') {
    throw new OperatorError(
      `DATA_DIR ${dataDir} is in use by ${postmaster.owner}: stop it, or set another DATA_DIR for this instance, ` +
        'or set DATABASE_URL for both, to share one database.',
    );
  }
  await stopOrphan(postmaster.pid, log);
  return requireNoServer(dataDir, dir, log);
}

async function stopOrphan(pid: number, log: (line: string) => void): Promise<void> {
  log(`stopping the PostgreSQL server (process ${pid}) that an instance of the service left behind when it was killed`);
  process.kill(pid, 'SIGINT');
  for (const deadline = Date.now() + ORPHAN_STOP_MS; await isRunning(pid); await sleep(POLL_MS)) {
    if (Date.now() < deadline) continue;
    throw new OperatorError(
      `The PostgreSQL server (process ${pid}) that a killed instance of the service left behind does not stop: end that process, then start again.`,
    );
  }
}

/** Arguments by which `findPostmaster` recognises the server and the service that started it. */
export async function identifyingArguments(dir: string): Promise<string[]> {
  return ['-D', dir, '-c', `tunnel_access.service=${await identityOf(process.pid)}`];
}

/** `<pid>@<start time>`, which no later process has. Undefined if the process has ended. */
export async function identityOf(pid: number): Promise<string | undefined> {
  const found = await findProcess(pid);
  return found && `${pid}@${found.startTime}`;
}

export const isAlive = async (identity: string): Promise<boolean> =>
  (await identityOf(Number.parseInt(identity, 10))) === identity;

export const isRunning = async (pid: number): Promise<boolean> => (await findProcess(pid)) !== undefined;

interface Process {
  readonly state: string;
  readonly startTime: string;
  readonly command: string;
}

/** Undefined for a process that has ended, even if its parent has not reaped it yet (state Z). */
async function findProcess(pid: number): Promise<Process | undefined> {
  const found = await (existsSync('/proc/self/stat') ? readProc(pid) : askPs(pid));
  return /^[ZX]/.test(found?.state ?? 'X') ? undefined : found;
}

async function readProc(pid: number): Promise<Process | undefined> {
  const read = (file: string): Promise<string | undefined> =>
    readFile(`/proc/${pid}/${file}`, 'utf8').catch((error) =>
      error.code === 'ESRCH' ? undefined : ignoreMissing(error),
    );
  const [stat, command] = [await read('stat'), await read('cmdline')];
  // The name in brackets can hold any character. The third field follows it, and the 22nd is the start time.
  const fields = stat?.slice(stat.lastIndexOf(')') + 2).split(' ') ?? [];
  return { state: fields[0] ?? 'X', startTime: fields[22 - 3] ?? '', command: (command ?? '').replaceAll('\0', ' ') };
}

/** For macOS, which has no /proc. */
async function askPs(pid: number): Promise<Process | undefined> {
  const columns = ['stat', 'lstart', 'command'].flatMap((column) => ['-o', `${column}=`]);
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const found = await promisify(execFile)('ps', ['-ww', ...columns, '-p', String(pid)], { env }).catch((error) => {
    if (error.code !== 1) throw error; // a failure of `ps` must not make a process look dead
  });
  // The start time is five words, such as `Thu Nov 26 10:00:00 2025`.
  const [, state, startTime, command] = /^\s*(\S+)\s+((?:\S+\s+){5})(.*)/.exec(found?.stdout ?? '') ?? [];
  if (!state || !startTime || !command) return undefined;
  return { state, startTime: startTime.trim().replace(/\s+/g, '_'), command };
}

/** The contents of postmaster.pid, which a running server keeps in its folder. */
interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly socketFolder: string;
  readonly isReady: boolean;
}

export async function readPidFile(dir: string): Promise<PidFile | undefined> {
  const text = await readFile(path.join(dir, 'postmaster.pid'), 'utf8').catch(ignoreMissing);
  const [pid, , , port, socketFolder = '', , , state = ''] = text?.split('\n') ?? [];
  if (!(Number(pid) > 0)) return undefined;
  return { pid: Number(pid), port: Number(port), socketFolder, isReady: state.trim() === 'ready' };
}

/** Whether a server listens on the socket. Unlike a pid, the socket works across containers that share the folder. */
export async function isListening({ socketFolder, port }: PidFile): Promise<boolean> {
  const socket = net.connect(path.join(socketFolder, `.s.PGSQL.${port}`));
  const connected = once(socket, 'connect').then(
    () => true,
    () => false,
  );
  return connected.finally(() => socket.destroy());
}
