import { lstat, readdir, realpath, rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { ignoreMissing, onDataDir } from './errors.js';
import { locationNotes, stateFolderOf } from './location.js';
import { requireNoServer } from './postmaster.js';

/**
 * The file of the key that signs checkpoints. It is outside the database: who can read the database must not be able to
 * sign.
 */
export const CHECKPOINT_KEY_FILE = 'checkpoint-key';
/** The file that holds the first API key, if no terminal showed it. */
export const FIRST_CALLS_FILE = 'try-it.txt';

/** The files that belong to a DATA_DIR, as real paths. */
export interface EmbeddedData {
  /** Folders and files to remove. Empty: there is no database. */
  readonly paths: readonly string[];
  /** The DATA_DIR, which is removed as well if nothing else is in it. */
  readonly home: string;
}

/**
 * Finds the files that the embedded PostgreSQL keeps for a DATA_DIR, even if the folder itself is gone. Throws if a
 * server runs on the data.
 */
export const findEmbeddedData = (dataDir: string): Promise<EmbeddedData> => onDataDir(dataDir, find);

/** Removes the data first and the link to it last, so a removal that was interrupted can be repeated. */
export async function removeEmbeddedData({ paths, home }: EmbeddedData): Promise<void> {
  for (const one of paths) await rm(one, { recursive: true, force: true });
  await rmdir(home).catch((error) => {
    if (!['ENOENT', 'ENOTEMPTY', 'EEXIST', 'EBUSY'].includes(error.code)) throw error;
  });
}

async function find(dataDir: string): Promise<EmbeddedData> {
  const home = await realPathOfMissing(dataDir);
  const stateFolder = stateFolderOf(home);
  const [entry, note] = locationNotes(home);
  const cluster = (await realpath(entry).catch(ignoreMissing)) ?? entry;
  for (const dir of [cluster, path.join(stateFolder, 'postgres')]) {
    await requireNoServer(dataDir, dir, () => undefined);
  }
  const isCluster = await exists(path.join(cluster, 'PG_VERSION'));
  const isLink = (await lstat(entry).catch(ignoreMissing))?.isSymbolicLink();
  const beside = (await readdir(home).catch(ignoreMissing)) ?? [];
  const found = [
    ...(isCluster ? [cluster] : []),
    stateFolder,
    ...(isLink ? [entry] : []),
    ...beside.filter((name) => name.startsWith('postgres.new-')).map((name) => path.join(home, name)), // of initdb
    note,
    path.join(home, CHECKPOINT_KEY_FILE),
    path.join(home, FIRST_CALLS_FILE),
  ];
  const paths: string[] = [];
  for (const one of found) if (await exists(one)) paths.push(one);
  return { paths, home };
}

/** The real path that a missing folder had, unless the missing part contained a link. */
async function realPathOfMissing(dir: string): Promise<string> {
  const real = await realpath(dir).catch(ignoreMissing);
  if (real !== undefined || path.dirname(dir) === dir) return real ?? dir;
  return path.join(await realPathOfMissing(path.dirname(dir)), path.basename(dir));
}

const exists = async (file: string): Promise<boolean> => (await lstat(file).catch(ignoreMissing)) !== undefined;
