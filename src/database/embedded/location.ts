import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readFile, readlink, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../kernel/operator-error.js';
import { ignoreExisting, ignoreMissing } from './errors.js';

/** The user that PostgreSQL runs as if this process is root: PostgreSQL refuses to run as root. */
export interface ServingUser {
  readonly uid: number;
  readonly gid: number;
}

/** The folder of a cluster (a real path), and the user who serves it if this process is root. */
export interface ClusterLocation {
  readonly dir: string;
  readonly user: ServingUser | undefined;
}

/** If this process is root, it puts files here that the serving user cannot reach in the service's own folders. */
export const STATE_DIR = '/var/lib/tunnel-access';

const run = promisify(execFile);
const isRoot = (): boolean => process.getuid?.() === 0;

/** Names a folder that belongs to `dir` but cannot be inside it. */
export const shortHash = (dir: string): string => createHash('sha256').update(dir).digest('hex').slice(0, 12);

/** The folder of a cluster whose serving user cannot enter DATA_DIR. `dataDir` is a real path. */
export const stateFolderOf = (dataDir: string): string => path.join(STATE_DIR, shortHash(dataDir));
export const isInStateFolder = (dir: string): boolean => dir.startsWith(`${STATE_DIR}/`);

/** The link in DATA_DIR to a cluster in a state folder, and the note for people beside it. */
export const locationNotes = (dataDir: string): readonly [link: string, note: string] => [
  path.join(dataDir, 'postgres'),
  path.join(dataDir, 'WHERE-IS-MY-DATA.txt'),
];

/** Makes a missing DATA_DIR. Returns the folders that it made, the innermost first. */
export async function makeDataDir(dataDir: string): Promise<string[]> {
  if (/\p{Cc}/u.test(dataDir)) {
    throw new OperatorError(
      'DATA_DIR holds a line break or another control character, which PostgreSQL does not accept: name another folder.',
    );
  }
  const first = await mkdir(dataDir, { recursive: true, mode: 0o700 });
  const made: string[] = [];
  if (first) for (let dir = dataDir; dir.length >= first.length; dir = path.dirname(dir)) made.push(dir);
  // The serving user must pass through them.
  if (isRoot()) for (const dir of made) await chmod(dir, 0o711);
  return made;
}

/** Makes a folder under STATE_DIR, which every user can enter. */
export async function makeStateFolder(folder = STATE_DIR): Promise<string> {
  await mkdir(folder, { recursive: true });
  for (const dir of [STATE_DIR, folder]) await chmod(dir, 0o755);
  return folder;
}

/**
 * Finds the cluster at `DATA_DIR/postgres`, which is a folder or our link to one. Throws if the link leads nowhere,
 * because the data is then lost.
 */
export async function findCluster(dataDir: string): Promise<string | undefined> {
  const entry = path.join(dataDir, 'postgres');
  const dir = await realpath(entry).catch(ignoreMissing);
  if (dir) return (await lstat(path.join(dir, 'PG_VERSION')).catch(ignoreMissing)) ? dir : undefined;
  if ((await lstat(entry).catch(ignoreMissing)) === undefined) return undefined;
  throw new OperatorError(
    `The database of DATA_DIR ${dataDir} was in ${await readlink(entry)}, which is missing: ` +
      `restore that folder, or delete ${entry} to start with an empty database.`,
  );
}

/**
 * Locates the existing cluster, or else chooses a folder that the serving user can reach. The owner of a cluster serves
 * it.
 */
export async function locateCluster(dataDir: string): Promise<ClusterLocation> {
  const home = await realpath(dataDir);
  const dir = await findCluster(home);
  if (dir) return { dir, user: isRoot() ? await ownerOf(dir) : undefined };
  const user = isRoot() ? await servingUser() : undefined;
  const parent = (await canReach(home, user)) ? home : await makeStateFolder(stateFolderOf(home));
  return { dir: path.join(parent, 'postgres'), user };
}

async function ownerOf(dir: string): Promise<ServingUser> {
  const { uid, gid } = await lstat(dir);
  if (uid !== 0 && (await canReach(dir, { uid, gid }))) return { uid, gid };
  throw new OperatorError(
    uid === 0
      ? `The database in ${dir} belongs to root, but PostgreSQL does not run as root: give it to another user (chown -R postgres ${dir}).`
      : `The database in ${dir} is in a folder closed to its owner (user ${uid}): open the folders above it (chmod o+x), or move DATA_DIR.`,
  );
}

/** The system user `postgres`, made if it is missing. `nobody` if root cannot create users here. */
async function servingUser(): Promise<ServingUser> {
  const known = await userNamed('postgres');
  if (known) return known;
  // The next line checks the result.
  await run('useradd', ['--system', '--shell', '/usr/sbin/nologin', 'postgres']).catch(() => {});
  const user = (await userNamed('postgres')) ?? (await userNamed('nobody'));
  if (user) return user;
  throw new OperatorError(
    'PostgreSQL does not run as root, and this system has neither a user postgres nor a user nobody: ' +
      'start the service as an ordinary user, or set DATABASE_URL to a PostgreSQL server.',
  );
}

async function userNamed(name: string): Promise<ServingUser | undefined> {
  const lines = (await readFile('/etc/passwd', 'utf8')).split('\n').map((line) => line.split(':'));
  const [, , uid, gid] = lines.find(([first]) => first === name) ?? [];
  return Number(uid) > 0 ? { uid: Number(uid), gid: Number(gid) } : undefined;
}

/** Whether `user` can enter the folder. A shell of that user tries it. */
export async function canReach(dir: string, user: ServingUser | undefined): Promise<boolean> {
  if (!user) return true;
  return run('/bin/sh', ['-c', 'cd "$0"', dir], { ...user, cwd: '/' }).then(
    () => true,
    (error) => {
      if (typeof error.code === 'number') return false; // the shell's exit code
      throw error;
    },
  );
}

/** Writes the link and the note that lead from DATA_DIR to its cluster in a state folder. */
export async function writeLocationNotes(dataDir: string, dir: string): Promise<void> {
  const [link, file] = locationNotes(dataDir);
  const note =
    `The database of this folder is in ${dir}\nbecause PostgreSQL does not run as root, and the user that it runs as cannot enter this folder.\n` +
    'The link "postgres" beside this file leads there. Removing this folder keeps the data: `tunnel-access data remove` removes both.\n';
  await writeFile(file, note);
  await symlink(dir, link).catch(ignoreExisting);
  if ((await realpath(link)) === dir) return;
  throw new OperatorError(
    `Another instance of the service has just created its database in ${dataDir}: start this instance again.`,
  );
}
