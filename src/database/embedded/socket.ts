import { chown, lstat, mkdir, realpath } from 'node:fs/promises';
import os from 'node:os';
import path from 'node:path';
import { type Place, shortHash } from './cluster-location.js';
import { EmbeddedPostgresError, ignoreExisting } from './embedded-postgres-error.js';
import { isOpenTo, type ServingUser } from './user.js';

/** Only a part of the socket's name: nothing listens on TCP. */
export const POSTGRES_PORT = 5432;
/** What the kernel takes for a unix socket: 104 bytes on macOS, 108 on Linux, with the final zero. */
const MAX_SOCKET_PATH_BYTES = 103;

/** The folder of the unix socket: the cluster itself, or a private folder in tmp when that path is too long or PostgreSQL would split it. */
export async function socketFolder({ dir, user }: Place): Promise<string> {
  if (takesSocket(dir)) return dir;
  for (const tmp of [os.tmpdir(), '/tmp']) {
    const folder = path.join(await realpath(tmp), `tunnel-access-${shortHash(dir)}`);
    if (takesSocket(folder) && (await isOpenTo(path.dirname(folder), user))) return makePrivate(folder, user);
  }
  throw new EmbeddedPostgresError(
    `${dir} is too long a path for a unix socket, and so is ${os.tmpdir()}: set DATA_DIR to a shorter one.`,
  );
}

/** PostgreSQL takes a list of folders here: a comma or a quote would end the first. */
function takesSocket(folder: string): boolean {
  const socket = path.join(folder, `.s.PGSQL.${POSTGRES_PORT}`);
  return Buffer.byteLength(socket) <= MAX_SOCKET_PATH_BYTES && !/[",\\]/.test(folder) && folder.trim() === folder;
}

/** The name can be guessed and tmp is open to all, so a folder that somebody else laid there is refused: he could answer in our place. */
async function makePrivate(folder: string, user: ServingUser | undefined): Promise<string> {
  await mkdir(folder, { mode: 0o700 }).catch(ignoreExisting);
  const { uid, mode } = await lstat(folder);
  const isOurs = uid === process.getuid?.() || uid === user?.uid;
  if (!isOurs || (mode & 0o170777) !== 0o040700) {
    throw new EmbeddedPostgresError(
      `${folder} is not a private folder of the service: find out who made it, and remove it.`,
    );
  }
  if (user) await chown(folder, user.uid, user.gid);
  return folder;
}
