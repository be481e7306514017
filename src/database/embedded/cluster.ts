import { execFile } from 'node:child_process';
import { chmod, chown, lstat, mkdir, readdir, readFile, rename, rm } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { OperatorError } from '../../kernel/operator-error.js';
import { type Binaries, describeSpawnError, POSTGRES_ENV } from './binaries.js';
import { ignoreExisting, ignoreMissing } from './errors.js';
import type { ClusterLocation, ServingUser } from './location.js';
import { identityOf, isAlive } from './postmaster.js';

/** Creates the cluster if there is none. Returns whether it has created one. */
export async function ensureCluster(
  { dir, user }: ClusterLocation,
  { initdb, majorVersion }: Binaries,
): Promise<boolean> {
  const isNew = (await versionOf(dir)) === undefined && (await createCluster(dir, user, initdb));
  const version = await versionOf(dir);
  if (version === undefined) {
    throw new OperatorError(
      `${dir} is not a PostgreSQL database, and not empty: move it away, or set DATA_DIR to another folder.`,
    );
  }
  if (version !== majorVersion) {
    throw new OperatorError(
      `The database in ${dir} was made by PostgreSQL ${version}, but this release of the service comes with PostgreSQL ${majorVersion}: ` +
        `start the release that made it, or transfer the data with pg_upgrade or pg_dump, or set DATA_DIR to an empty folder, ` +
        `or set DATABASE_URL to a PostgreSQL ${version} server of your own that holds the data.`,
    );
  }
  await closeToOthers(dir);
  return isNew;
}

async function versionOf(dir: string): Promise<number | undefined> {
  const text = await readFile(path.join(dir, 'PG_VERSION'), 'utf8').catch(ignoreMissing);
  return text === undefined ? undefined : Number.parseInt(text, 10);
}

/** Kubernetes gives the group of fsGroup access to the folders of a volume. PostgreSQL refuses such a folder. */
async function closeToOthers(dir: string): Promise<void> {
  const { mode } = await lstat(dir);
  if (mode & 0o027) await chmod(dir, 0o700);
}

/** initdb works in a draft folder, which is renamed at the end. So an interrupted start leaves no partial cluster. */
async function createCluster(dir: string, user: ServingUser | undefined, initdb: string): Promise<boolean> {
  await removeAbandonedDrafts(dir);
  const draft = `${dir}.new-${await identityOf(process.pid)}`;
  await mkdir(draft, { mode: 0o700 });
  try {
    if (user) await chown(draft, user.uid, user.gid);
    await runInitdb(initdb, draft, user);
    await rename(draft, dir).catch(ignoreExisting);
    return (await lstat(draft).catch(ignoreMissing)) === undefined;
  } finally {
    await rm(draft, { recursive: true, force: true });
  }
}

/** A draft is named after its creator. */
async function removeAbandonedDrafts(dir: string): Promise<void> {
  const prefix = `${path.basename(dir)}.new-`;
  for (const name of await readdir(path.dirname(dir))) {
    if (!name.startsWith(prefix) || (await isAlive(name.slice(prefix.length)))) continue;
    await rm(path.join(path.dirname(dir), name), { recursive: true, force: true });
  }
}

/** A container may run as any number (`docker run -u 12345`). PostgreSQL wants to know its name. */
const UNKNOWN_USER =
  'This user has no line in /etc/passwd: run as a user that has one (in the image of this project `node`, 1000), ' +
  'or mount an /etc/passwd with a line for it, or set DATABASE_URL to a PostgreSQL server.';

/** Trust on the socket is safe, since only the serving user and root can open it. Network connections are rejected. */
async function runInitdb(initdb: string, dir: string, user: ServingUser | undefined): Promise<void> {
  const access = ['--username=postgres', '--auth-local=trust', '--auth-host=reject'];
  const flags = ['--encoding=UTF8', '--locale=C', '--data-checksums', '--no-instructions', ...access];
  await promisify(execFile)(initdb, ['-D', dir, ...flags], { ...user, env: POSTGRES_ENV, cwd: '/' }).catch((cause) => {
    const reason: string = (cause.stderr || describeSpawnError(cause)).trim();
    const wayOut = reason.includes('could not look up effective user ID')
      ? UNKNOWN_USER
      : 'Correct that, or set DATA_DIR to another folder, or set DATABASE_URL to a PostgreSQL server.';
    throw new OperatorError(`PostgreSQL could not create a database in ${dir}: ${reason}\n${wayOut}`, { cause });
  });
}
