import { chown, lstat, mkdir, realpath } from 'node:fs/promises';
import path from 'node:path';
import { OperatorError } from '../../kernel/operator-error.js';
import { ignoreExisting } from './errors.js';
import { type ClusterLocation, shortHash } from './location.js';

/** The port is only a part of the socket's name. The server does not listen on TCP. */
export const POSTGRES_PORT = 5432;
/** The kernel's limit for a unix socket is 104 bytes on macOS and 108 on Linux, including the final zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/**
 * Chooses the folder of the unix socket: the cluster's, or a private one in /tmp if the cluster's path does not fit.
 * PostgreSQL reads the setting as a list of folders, so a path with a comma, a quote or a blank at its end would
 * change.
 */
export async function socketFolder(location: ClusterLocation): Promise<string> {
  const { dir } = location;
  const isShort = Buffer.byteLength(path.join(dir, `.s.PGSQL.${POSTGRES_PORT}`)) <= MAX_SOCKET_PATH_BYTES;
  return isShort && !/[",\\]|\s$/.test(dir) ? dir : makePrivateFolder(location);
}

/**
 * Refuses a folder that another user created. All users can write to /tmp and guess the name, so that user could
 * impersonate the server.
 */
async function makePrivateFolder({ dir, user }: ClusterLocation): Promise<string> {
  const folder = path.join(await realpath('/tmp'), `tunnel-access-${shortHash(dir)}`);
  await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting);
  const { uid, mode } = await lstat(folder);
  const isOurs = uid === process.getuid?.() || uid === user?.uid;
  if (!isOurs || (mode & 0o170777) !== 0o040700) {
    throw new OperatorError(
      `${folder} is not a private folder of the service: find out who created it, and remove it.`,
    );
  }
  if (user) await chown(folder, user.uid, user.gid);
  return folder;
}
