import { chown, lstat, mkdir, realpath } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type ClusterLocation, shortHash } from './cluster-location.js';
import { EmbeddedPostgresError, ignoreExisting } from './embedded-postgres-error.js';
import { canReach, type ServingUser } from './user.js';

/** A part of the socket's name only: the server does not listen on TCP. */
export const POSTGRES_PORT = 5432;
/** The kernel's limit for a unix socket is 104 bytes on macOS and 108 on Linux, including the final zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * Chooses the folder of the unix socket: the cluster's, or a private one in tmp if that path is too long or PostgreSQL
 * would split it.
 */
export async function socketFolder({ dir, user }: ClusterLocation): Promise<string> {
  if (canHoldSocket(dir)) return dir;
  for (const tmp of [os.tmpdir(), '/tmp']) {
    const folder = path.join(await realpath(tmp), `tunnel-access-${shortHash(dir)}`);
    if (canHoldSocket(folder) && (await canReach(path.dirname(folder), user))) return createPrivateFolder(folder, user);
  }
  throw new EmbeddedPostgresError(
    `The paths ${dir} and ${os.tmpdir()} are too long for a unix socket: set DATA_DIR to a shorter path.`,
  );
}

/** PostgreSQL reads a list of folders, in which a comma or a quote would end the first one. */
function canHoldSocket(folder: string): boolean {
  const socket = path.join(folder, `.s.PGSQL.${POSTGRES_PORT}`);
  return Buffer.byteLength(socket) <= MAX_SOCKET_PATH_BYTES && !/[",\\]/.test(folder) && folder.trim() === folder;
}

/**
 * Refuses a folder that another user created: its name is guessable and tmp is open to all, so that user could
 * impersonate the server.
 */
async function createPrivateFolder(folder: string, user: ServingUser | undefined): Promise<string> {
  await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting);
  const { uid, mode } = await lstat(folder);
  const isOurs = uid === process.getuid?.() || uid === user?.uid;
  if (!isOurs || (mode & 0o170777) !== 0o040700) {
    throw new EmbeddedPostgresError(
      `${folder} is not a private folder of the service: find out who created it, and remove it.`,
    );
  }
  if (user) await chown(folder, user.uid, user.gid);
  return folder;
}
