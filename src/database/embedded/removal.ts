import { lstat, readdir, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { locationNotes, shortHash } from './cluster-location.js';
import { inUse, stopOrphan } from './embedded-postgres.js';
import { ignoreMissing, onDataDir } from './embedded-postgres-error.js';
import { findPostmaster } from './postmaster.js';
import { STATE_DIR } from './user.js';

/** What belongs to a DATA_DIR, as real paths. */
export interface EmbeddedData {
  /** Folders and files to remove. Empty: there is no database. */
  readonly paths: readonly string[];
  /** The DATA_DIR, which is removed as well if nothing else is in it. */
  readonly home: string;
}

/**
 * Finds what the embedded PostgreSQL keeps for a DATA_DIR, which may be gone: a folder under STATE_DIR is named after it.
 * Throws if a server runs on the data.
 */
export const findEmbeddedData = (dataDir: string): Promise<EmbeddedData> => onDataDir(dataDir, find);

/** Removes the data before the link that leads to it, so a removal that was interrupted can be repeated. */
export async function removeEmbeddedData({ paths, home }: EmbeddedData): Promise<void> {
  for (const one of paths) await rm(one, { recursive: true, force: true });
  await rmdir(home).catch(ignoreOccupied);
}

async function find(dataDir: string): Promise<EmbeddedData> {
  const home = await realPathOfMissing(dataDir);
  const [entry, note] = locationNotes(home);
  const elsewhere = path.join(STATE_DIR, shortHash(home));
  const linked = await realpath(entry).catch(ignoreMissing);
  for (const cluster of new Set([linked, path.join(elsewhere, 'postgres')])) {
    if (cluster !== undefined) await refuseRunning(dataDir, cluster);
  }
  const isCluster = linked !== undefined && (await exists(path.join(linked, 'PG_VERSION')));
  const isLink = (await lstat(entry).catch(ignoreMissing))?.isSymbolicLink() === true;
  const found = [
    ...(isCluster ? [linked] : []),
    ...((await exists(elsewhere)) ? [elsewhere] : []),
    ...(isLink ? [entry] : []),
    ...(await draftsIn(home)),
    note,
    path.join(home, CHECKPOINT_KEY_FILE),
    path.join(home, FIRST_CALLS_FILE),
  ];
  const paths: string[] = [];
  for (const one of new Set(found)) if (await exists(one)) paths.push(one);
  return { paths, home };
}

/** Beside the database, since who can read the database must not be able to sign. */
export const CHECKPOINT_KEY_FILE = 'checkpoint-key';
/** With the first key, if no terminal showed it. */
export const FIRST_CALLS_FILE = 'try-it.txt';

async function refuseRunning(dataDir: string, cluster: string): Promise<void> {
  const postmaster = await findPostmaster(cluster);
  if (postmaster.kind === 'owned') throw inUse(dataDir, postmaster.owner);
  if (postmaster.kind === 'orphan') await stopOrphan(postmaster.pid, () => undefined);
}

/** Of a folder that is gone: what its real path was, unless a link was in the part that is gone. */
async function realPathOfMissing(dir: string): Promise<string> {
  const real = await realpath(dir).catch(ignoreMissing);
  if (real !== undefined || path.dirname(dir) === dir) return real ?? dir;
  return path.join(await realPathOfMissing(path.dirname(dir)), path.basename(dir));
}

/** What an interrupted initdb left. */
async function draftsIn(home: string): Promise<string[]> {
  const names = (await readdir(home).catch(ignoreMissing)) ?? [];
  return names.filter((name) => name.startsWith('postgres.new-')).map((name) => path.join(home, name));
}

const exists = async (file: string): Promise<boolean> => (await lstat(file).catch(ignoreMissing)) !== undefined;

function ignoreOccupied(error: NodeJS.ErrnoException): void {
  if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EBUSY'].includes(error.code ?? '')) throw error;
}
