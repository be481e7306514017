import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readlink, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { EmbeddedPostgresError, ignoreExisting, ignoreMissing } from './embedded-postgres-error.js';
import { canReach, isRoot, type ServingUser, STATE_DIR, servingUser } from './user.js';

/** The folder of a cluster (a real path), and the user who serves it if this process is root. */
export interface ClusterLocation {
  readonly dir: string;
  readonly user: ServingUser | undefined;
}

/** Names a folder that belongs to `dir` but cannot be inside it. */
export const shortHash = (dir: string): string => createHash('sha256').update(dir).digest('hex').slice(0, 12);

/** As root, opens each folder that it creates for passing through: the serving user must reach DATA_DIR. */
async function createDataDir(dataDir: string): Promise<string> {
  if (/\p{Cc}/u.test(dataDir)) {
    throw new EmbeddedPostgresError(
      'DATA_DIR holds a line break or another control character, which PostgreSQL does not accept: name another folder.',
    );
  }
  const first = await mkdir(dataDir, { recursive: true, mode: isRoot() ? 0o711 : 0o700 });
  if (first && isRoot()) {
    for (let dir = dataDir; dir.length >= first.length; dir = path.dirname(dir)) await chmod(dir, 0o711);
  }
  return realpath(dataDir);
}

/**
 * Finds the cluster at `DATA_DIR/postgres`, a folder or our link to one. Throws for a dangling link: its data is lost.
 */
export async function findCluster(dataDir: string): Promise<string | undefined> {
  const entry = path.join(dataDir, 'postgres');
  const dir = await realpath(entry).catch(ignoreMissing);
  if (dir) return (await lstat(path.join(dir, 'PG_VERSION')).catch(ignoreMissing)) ? dir : undefined;
  if (await lstat(entry).catch(ignoreMissing)) {
    throw new EmbeddedPostgresError(
      `The database of DATA_DIR ${dataDir} was in ${await readlink(entry)}, which is missing: ` +
        `restore that folder, or delete ${entry} to start with an empty database.`,
    );
  }
  return undefined;
}

/** Locates the existing cluster, which its owner serves, or else chooses a folder that the serving user can reach. */
export async function locateCluster(dataDir: string): Promise<ClusterLocation> {
  const home = await createDataDir(dataDir);
  const dir = await findCluster(home);
  if (dir) return { dir, user: isRoot() ? await ownerOf(dir) : undefined };
  const user = isRoot() ? await servingUser() : undefined;
  if (await canReach(home, user)) return { dir: path.join(home, 'postgres'), user };
  return { dir: path.join(await createStateFolder(home), 'postgres'), user };
}

async function ownerOf(dir: string): Promise<ServingUser> {
  const { uid, gid } = await lstat(dir);
  if (uid !== 0 && (await canReach(dir, { uid, gid }))) return { uid, gid };
  throw new EmbeddedPostgresError(
    uid === 0
      ? `The database in ${dir} belongs to root, but PostgreSQL does not run as root: give it to another user (chown -R postgres ${dir}).`
      : `The database in ${dir} is in a folder closed to its owner (user ${uid}): open the folders above it (chmod o+x), or move DATA_DIR.`,
  );
}

/** Whether root has put the cluster outside of DATA_DIR, in a folder for it alone. */
export const isInStateFolder = (dir: string): boolean => dir.startsWith(`${STATE_DIR}/`);

/** What leads to a cluster outside of DATA_DIR: a link, and a note for people beside it. */
export const locationNotes = (dataDir: string): readonly [link: string, note: string] => [
  path.join(dataDir, 'postgres'),
  path.join(dataDir, 'WHERE-IS-MY-DATA.txt'),
];

async function createStateFolder(dataDir: string): Promise<string> {
  const home = path.join(STATE_DIR, shortHash(dataDir));
  await mkdir(home, { recursive: true });
  await chmod(STATE_DIR, 0o755);
  await chmod(home, 0o711);
  return home;
}

/** Returns whether the cluster is outside DATA_DIR. If we put it there, leaves a note and a link in DATA_DIR. */
export async function writeLocationNote(dataDir: string, dir: string): Promise<boolean> {
  const [link, file] = locationNotes(await realpath(dataDir));
  if (dir === link) return false;
  if (!isInStateFolder(dir)) return true; // the operator created the link
  const note =
    `The database of this folder is in ${dir}\nbecause PostgreSQL does not run as root, and the user that it runs as cannot enter this folder.\n` +
    'The link "postgres" beside this file leads there. Removing this folder keeps the data: `tunnel-access data remove` removes both.\n';
  await writeFile(file, note);
  await symlink(dir, link).catch(ignoreExisting);
  if ((await realpath(link)) === dir) return true;
  throw new EmbeddedPostgresError(
    `Another instance of the service has just created its database in ${dataDir}: start this instance again.`,
  );
}
