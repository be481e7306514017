import { createHash } from 'node:crypto';
import { chmod, lstat, mkdir, readlink, realpath, symlink, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { absent, EmbeddedPostgresError, ignoreExisting } from './embedded-postgres-error.js';
import { isOpenTo, isRoot, OPEN_HOME, type ServingUser, servingUser } from './user.js';

/** A cluster's folder (a real path), and who serves it when we are root. */
export interface Place {
  readonly dir: string;
  readonly user: ServingUser | undefined;
}

/** A name for what belongs to `dir` but cannot be in it. */
export const shortHash = (dir: string): string => createHash('sha256').update(dir).digest('hex').slice(0, 12);

/** Folders we make ourselves as root are made passable, whatever the umask, so that the cluster can stay in DATA_DIR. */
async function makeDataDir(dataDir: string): Promise<string> {
  if (/\p{Cc}/u.test(dataDir)) {
    throw new EmbeddedPostgresError(
      'DATA_DIR holds a line break or another control character, which PostgreSQL cannot take: name another folder.',
    );
  }
  const first = await mkdir(dataDir, { recursive: true, mode: isRoot() ? 0o711 : 0o700 });
  if (first && isRoot()) {
    for (let dir = dataDir; dir.length >= first.length; dir = path.dirname(dir)) await chmod(dir, 0o711);
  }
  return realpath(dataDir);
}

/** The cluster behind `DATA_DIR/postgres`, a folder or our link to one elsewhere. A link to nothing is lost data, never an empty start. */
export async function findCluster(dataDir: string): Promise<string | undefined> {
  const door = path.join(dataDir, 'postgres');
  const dir = await realpath(door).catch(absent);
  if (dir) return (await lstat(path.join(dir, 'PG_VERSION')).catch(absent)) ? dir : undefined;
  if (await lstat(door).catch(absent)) {
    throw new EmbeddedPostgresError(
      `The database of DATA_DIR ${dataDir} was in ${await readlink(door)}, which is gone: ` +
        `bring that folder back, or delete ${door} to start with an empty database.`,
    );
  }
  return undefined;
}

/** An existing cluster stays where it is and is served by its owner; a new one goes where the serving user can reach it. */
export async function placeCluster(dataDir: string): Promise<Place> {
  const home = await makeDataDir(dataDir);
  const dir = await findCluster(home);
  if (dir) return { dir, user: isRoot() ? await ownerOf(dir) : undefined };
  const user = isRoot() ? await servingUser() : undefined;
  if (await isOpenTo(home, user)) return { dir: path.join(home, 'postgres'), user };
  return { dir: path.join(await makeOpenHome(home), 'postgres'), user };
}

async function ownerOf(dir: string): Promise<ServingUser> {
  const { uid, gid } = await lstat(dir);
  if (uid !== 0 && (await isOpenTo(dir, { uid, gid }))) return { uid, gid };
  throw new EmbeddedPostgresError(
    uid === 0
      ? `The database in ${dir} belongs to root, and PostgreSQL refuses to run as root: give it to another user (chown -R postgres ${dir}).`
      : `The database in ${dir} is in a folder closed to its owner (user ${uid}): open the folders above it (chmod o+x), or move DATA_DIR.`,
  );
}

async function makeOpenHome(dataDir: string): Promise<string> {
  const home = path.join(OPEN_HOME, shortHash(dataDir));
  await mkdir(home, { recursive: true });
  await chmod(OPEN_HOME, 0o755);
  await chmod(home, 0o711);
  return home;
}

/** Says whether the cluster is outside DATA_DIR. If we put it there, whoever looks into DATA_DIR finds it: people by a text, we by a link. */
export async function writeLocationNote(dataDir: string, dir: string): Promise<boolean> {
  const door = path.join(await realpath(dataDir), 'postgres');
  if (dir === door) return false;
  if (!dir.startsWith(OPEN_HOME)) return true; // the link is the operator's own
  const sign =
    `The database of this folder is in ${dir}\nbecause the user PostgreSQL runs as (it refuses root) may not enter this folder.\n` +
    'The link "postgres" beside this text leads there. Back up that folder: this one holds no data.\n';
  await writeFile(path.join(dataDir, 'WHERE-IS-MY-DATA.txt'), sign);
  await symlink(dir, door).catch(ignoreExisting);
  if ((await realpath(door)) === dir) return true;
  throw new EmbeddedPostgresError(
    `Another copy of the service has just put its database into ${dataDir}: start this one again.`,
  );
}
