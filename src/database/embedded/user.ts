import { execFile } from 'node:child_process';
import { readFile, stat } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { EmbeddedPostgresError } from './embedded-postgres-error.js';

/** The user that PostgreSQL runs as if this process is root, since it does not run as root. */
export interface ServingUser {
  readonly uid: number;
  readonly gid: number;
}

/**
 * Folder for files that the serving user must reach, used by root if that user cannot enter the service's own folders.
 */
export const STATE_DIR = '/var/lib/tunnel-access';

const run = promisify(execFile);

export const isRoot = (): boolean => process.getuid?.() === 0;

async function userNamed(name: string): Promise<ServingUser | undefined> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = lines.find(([first]) => first === name) ?? [];
  return Number(uid) > 0 ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Only for root. Finds or creates the system user `postgres`; `nobody` if root cannot create users here. */
export async function servingUser(): Promise<ServingUser> {
  const known = await userNamed('postgres');
  if (known) return known;
  // The next line checks the result.
  await run('useradd', ['--system', '--shell', '/usr/sbin/nologin', 'postgres']).catch(() => {});
  const user = (await userNamed('postgres')) ?? (await userNamed('nobody'));
  if (user) return user;
  throw new EmbeddedPostgresError(
    'PostgreSQL does not run as root, and this system has neither a user postgres nor a user nobody: ' +
      'start the service as an ordinary user, or set DATABASE_URL to a PostgreSQL server.',
  );
}

async function canEnter(dir: string, user: ServingUser): Promise<boolean> {
  const { uid, gid, mode } = await stat(dir);
  if (uid === user.uid) return (mode & 0o100) !== 0;
  return (mode & (gid === user.gid ? 0o010 : 0o001)) !== 0;
}

/** Whether `user` can pass through every folder down to the real path `dir`. Only root can enter /root, for example. */
export async function canReach(dir: string, user: ServingUser | undefined): Promise<boolean> {
  if (!user) return true;
  if (!(await canEnter(dir, user))) return false;
  const parent = path.dirname(dir);
  return parent === dir || canReach(parent, user);
}
