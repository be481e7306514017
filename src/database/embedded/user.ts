import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** PostgreSQL refuses to run as root, so under root it runs as this user. */
export interface ServingUser {
  readonly uid: number;
  readonly gid: number;
}

/** Where root keeps what the serving user must reach when our own folders are closed to it. */
export const OPEN_HOME = '/var/lib/tunnel-access';

const run = promisify(execFile);

export const isRoot = (): boolean => process.getuid?.() === 0;

async function userNamed(name: string): Promise<ServingUser | undefined> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = lines.find(([first]) => first === name) ?? [];
  return Number(uid) > 0 ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Only for root: the system user `postgres`, made if it is missing; `nobody` where no user can be made. */
export async function servingUser(): Promise<ServingUser> {
  const known = await userNamed('postgres');
  if (known) return known;
  await run('useradd', ['--system', '--shell', '/usr/sbin/nologin', 'postgres']).catch(() => {}); // judged by what it left
  const user = (await userNamed('postgres')) ?? (await userNamed('nobody'));
  if (user) return user;
  throw new EmbeddedPostgresError(
    'PostgreSQL refuses to run as root, and this system has neither a user postgres nor a user nobody: ' +
      'start the service as an ordinary user, or set DATABASE_URL to a PostgreSQL server.',
  );
}

async function mayEnter(dir: string, user: ServingUser): Promise<boolean> {
  const { uid, gid, mode } = await stat(dir);
  if (uid === user.uid) return (mode & 0o100) !== 0;
  return (mode & (gid === user.gid ? 0o010 : 0o001)) !== 0;
}

/** Whether `user` can pass through every folder down to the real path `dir`; /root, for one, is closed to all but root. */
export async function isOpenTo(dir: string, user: ServingUser | undefined): Promise<boolean> {
  if (!user) return true;
  if (!(await mayEnter(dir, user))) return false;
  const parent = path.dirname(dir);
  return parent === dir || isOpenTo(parent, user);
}
