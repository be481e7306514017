import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readFile } from 'node:fs/promises';
import net from 'node:net';
import path from 'node:path';
import { promisify } from 'node:util';
import { absent } from './embedded-postgres-error.js';

/**
 * Whether the server of a cluster belongs to a copy of the service that lives, or was left behind by a crash.
 *
 * Each server carries on its command line the identity of the service that started it: pid and start time. That process lives:
 * a second copy, refuse. It does not: an orphan, stop it. The server's parent tells nothing, since an orphan goes to a subreaper or
 * to process 1, which in a container is often node itself. And a lock file of our own would go stale on its own, with a race between
 * two starts that clear it; this mark comes and goes with the server, and PostgreSQL's own postmaster.pid lets only one server in.
 */
export type Holder =
  /** `stalePid`: a postmaster.pid names it, but it is no server of this cluster. It may well be another program's by now. */
  | { readonly kind: 'nobody'; readonly stalePid: number | undefined }
  | { readonly kind: 'orphan'; readonly pid: number }
  | { readonly kind: 'live'; readonly who: string };

const MARK = 'tunnel_access.service';
const HAS_PROC = existsSync('/proc/self/stat');
const run = promisify(execFile);

/** What `ps` says about a process; for systems without /proc (slim Linux images have no `ps`). It ends with 1 when there is none. */
async function ps(pid: number, ...columns: string[]): Promise<string | undefined> {
  const options = columns.flatMap((column) => ['-o', `${column}=`]);
  const env = { ...process.env, LC_ALL: 'C', TZ: 'UTC' };
  const found = await run('ps', ['-ww', ...options, '-p', String(pid)], { env }).catch((error) => {
    if (error.code !== 1) throw error; // a process we failed to ask about must not pass for dead
  });
  return found?.stdout.trim();
}

const proc = (pid: number, file: string): Promise<string | undefined> =>
  readFile(`/proc/${pid}/${file}`, 'utf8').catch((error) => (error.code === 'ESRCH' ? undefined : absent(error)));

/** `<pid>@<start time>`, which no later process shares; undefined when it has ended, be it still unreaped (state Z). */
export async function identityOf(pid: number): Promise<string | undefined> {
  const text = HAS_PROC ? await proc(pid, 'stat') : await ps(pid, 'stat', 'lstart');
  if (!text) return undefined;
  const afterName = text.slice(text.lastIndexOf(')') + 1).trim(); // the name, in brackets, may hold anything
  const fields = afterName.split(/\s+/);
  const startTime = HAS_PROC ? fields[22 - 3] : fields.slice(1).join('_');
  return /^[ZX]/.test(fields[0] ?? '') ? undefined : `${pid}@${startTime}`;
}

export const isAlive = async (identity: string): Promise<boolean> =>
  (await identityOf(Number.parseInt(identity, 10))) === identity;

export const isRunning = async (pid: number): Promise<boolean> => (await identityOf(pid)) !== undefined;

/** How the server is started so that `findHolder` knows it and its service. */
export async function markedArguments(dir: string): Promise<string[]> {
  return ['-D', dir, '-c', `${MARK}=${await identityOf(process.pid)}`];
}

const commandOf = async (pid: number): Promise<string> =>
  (HAS_PROC ? (await proc(pid, 'cmdline'))?.replaceAll('\0', ' ') : await ps(pid, 'command')) ?? '';

/** What a running server says of itself in its folder. */
export interface PidFile {
  readonly pid: number;
  readonly port: number;
  readonly socketFolder: string;
  readonly isReady: boolean;
}

export async function readPidFile(dir: string): Promise<PidFile | undefined> {
  const text = await readFile(path.join(dir, 'postmaster.pid'), 'utf8').catch(absent);
  const [pid, , , port, socketFolder = '', , , state = ''] = text?.split('\n') ?? [];
  return Number(pid) > 0
    ? { pid: Number(pid), port: Number(port), socketFolder, isReady: state.trim() === 'ready' }
    : undefined;
}

/** Whether a server listens on the socket, which reaches across containers that share the folder; pids do not. */
export function answers({ socketFolder, port }: PidFile): Promise<boolean> {
  const socket = net.connect(path.join(socketFolder, `.s.PGSQL.${port}`));
  const answer = new Promise<boolean>((resolve) => {
    socket.once('connect', () => resolve(true));
    socket.once('error', () => resolve(false));
  });
  return answer.finally(() => socket.destroy());
}

/** Who holds the cluster in `dir` now. Nothing is judged by a pid alone: pids are reused. */
export async function findHolder(dir: string): Promise<Holder> {
  const file = await readPidFile(dir);
  if (!file) return { kind: 'nobody', stalePid: undefined };
  const command = (await isRunning(file.pid)) ? await commandOf(file.pid) : '';
  if (command.includes(`postgres -D ${dir} `)) return holderNamedIn(command, file.pid);
  if (!(await answers(file))) return { kind: 'nobody', stalePid: file.pid };
  return { kind: 'live', who: 'a PostgreSQL server that this copy did not start (perhaps one in another container)' };
}

async function holderNamedIn(command: string, pid: number): Promise<Holder> {
  const [, service] = new RegExp(`${MARK}=(\\S+)`).exec(command) ?? [];
  if (!service) return { kind: 'live', who: `a PostgreSQL server started by hand (process ${pid})` };
  const isOrphan = !(await isAlive(service));
  if (isOrphan) return { kind: 'orphan', pid };
  return { kind: 'live', who: `another copy of the service (process ${Number.parseInt(service, 10)})` };
}
