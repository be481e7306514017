import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { ignoreMissing } from './embedded-postgres-error.js';

/**
 * The server process of a cluster. Its command line names the service that started it, by pid and start time: if that
 * process still runs, the server is owned, else it is an orphan of a crash. Neither the parent process nor a lock file
 * can decide this: an orphan's new parent may be any process, and a lock file goes stale.
 */
type Postmaster =
  /** `stalePid`: named by postmaster.pid, but not a server of this cluster; the pid may have been reused. */
  | { readonly kind: 'none'; readonly stalePid: number | undefined }
  | { readonly kind: 'orphan'; readonly pid: number }
  /** `owner` describes who runs it, for a message. */
  | { readonly kind: 'owned'; readonly owner: string };

const OWNER_SETTING = 'tunnel_access.service';
const HAS_PROC = existsSync('/proc/self/stat');
const run = promisify(execFile);

/** Output of `ps`, for systems without /proc; undefined if there is no such process (`ps` exits with 1). */
async function ps(pid: number, ...columns: string[]): Promise<string | undefined> {
  const options = columns.flatMap((column) => ['-o', `${column}=`]);
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const found = await run('ps', ['-ww', ...options, '-p', String(pid)], { env }).catch((error) => {
    if (error.code !== 1) throw error; // a failure of `ps` must not make a process look dead
  });
  return found?.stdout.trim();
}

const proc = (pid: number, file: string): Promise<string | undefined> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch((error) =>
    error.code === 'ESRCH' ? undefined : ignoreMissing(error),
  );

/** `<pid>@<start time>`, which no later process shares; undefined if the process ended, even if unreaped (state Z). */
export async function identityOf(pid: number): Promise<string | undefined> {
  const text = HAS_PROC ? await proc(pid, 'stat') : await ps(pid, 'stat', 'lstart');
  if (!text) return undefined;
  const afterName = text.slice(text.lastIndexOf(')') + 1).trim(); // the name in brackets can hold any character
  const fields = afterName.split(/\s+/);
  const startTime = HAS_PROC ? fields[22 - 3] : fields.slice(1).join('_');
  return /^[ZX]/.test(fields[0] ?? '') ? undefined : `${pid}@${startTime}`;
}

export const isAlive = async (identity: string): Promise<boolean> =>
  (await identityOf(Number.parseInt(identity, 10))) === identity;

export const isRunning = async (pid: number): Promise<boolean> => (await identityOf(pid)) !== undefined;

/** Arguments by which `findPostmaster` recognises the server and the service that started it. */
export async function identifyingArguments(dir: string): Promise<string[]> {
  return ['-D', dir, '-c', `${OWNER_SETTING}=${await identityOf(process.pid)}`];
}

const commandOf = async (pid: number): Promise<string> =>
  (HAS_PROC ? (await proc(pid, 'cmdline'))?.replaceAll('\0', ' ') : await ps(pid, 'command')) ?? '';

/** Contents of the postmaster.pid that a running server keeps in its folder. */
interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly socketFolder: string;
  readonly isReady: boolean;
}

export async function readPidFile(dir: string): Promise<PidFile | undefined> {
  const text = await readFile(path.join(dir, 'postmaster.pid'), 'utf8').catch(ignoreMissing);
  const [pid, , , port, socketFolder = '', , , state = ''] = text?.split('\n') ?? [];
  return Number(pid) > 0
    ? { pid: Number(pid), port: Number(port), socketFolder, isReady: state.trim() === 'ready' }
    : undefined;
}

/** Whether a server listens on the socket. Unlike a pid, the socket works across containers that share the folder. */
export function isListening({ socketFolder, port }: PidFile): Promise<boolean> {
  const socket = net.connect(path.join(socketFolder, `.s.PGSQL.${port}`));
  const connected = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  return connected.finally(() => socket.destroy());
}

/** Finds the server process of the cluster in `dir`. A pid alone does not identify it, since the system reuses pids. */
export async function findPostmaster(dir: string): Promise<Postmaster> {
  const file = await readPidFile(dir);
  if (!file) return { kind: 'none', stalePid: undefined };
  const command = (await isRunning(file.pid)) ? await commandOf(file.pid) : '';
  if (command.includes(`postgres -D ${dir} `)) return postmasterOf(command, file.pid);
  if (!(await isListening(file))) return { kind: 'none', stalePid: file.pid };
  return {
    kind: 'owned',
    owner: 'a PostgreSQL server that this instance did not start (perhaps one in another container)',
  };
}

async function postmasterOf(command: string, pid: number): Promise<Postmaster> {
  const [, service] = new RegExp(`${OWNER_SETTING}=(\\S+)`).exec(command) ?? [];
  if (!service) return { kind: 'owned', owner: `a PostgreSQL server started by hand (process ${pid})` };
  const isOrphan = !(await isAlive(service));
  if (isOrphan) return { kind: 'orphan', pid };
  return { kind: 'owned', owner: `another instance of the service (process ${Number.parseInt(service, 10)})` };
}
