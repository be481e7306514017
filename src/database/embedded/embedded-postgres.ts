import { rm, rmdir } from 'node:fs/promises';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { OperatorError } from '../../kernel/operator-error.js';
import { findBinaries } from './binaries.js';
import { ensureCluster } from './cluster.js';
import { onDataDir } from './errors.js';
import {
  findCluster,
  isInStateFolder,
  locateCluster,
  locationNotes,
  makeDataDir,
  writeLocationNotes,
} from './location.js';
import { findPostmaster, isListening, readPidFile, requireNoServer } from './postmaster.js';
import { type PostgresServer, type ServerOptions, startServer } from './server.js';
import { POSTGRES_PORT, socketFolder } from './socket.js';

/** A PostgreSQL server that this process started and must stop. */
export interface EmbeddedPostgres extends PostgresServer {
  /** The folder of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  /** The real path of the cluster, outside DATA_DIR if the serving user cannot enter that. */
  readonly clusterDir: string;
  /** Whether initdb ran in this start. */
  readonly isNew: boolean;
  /** Removes the cluster and the folders that this start has made. The server must be stopped. */
  removeNew(): Promise<void>;
}

type StartOptions = Pick<ServerOptions, 'log' | 'pooled'>;

/** The files that a start has made. A start that fails removes them. */
interface Made {
  /** The cluster, and the files that lead to it. Empty if the cluster was there before. */
  readonly cluster: string[];
  /** The folders around it, the innermost first. They stay if they hold anything else. */
  readonly folders: string[];
}

const USER = 'postgres';
/** Another start, or the remains of a killed server, may lock the cluster. All attempts together take about 10 s. */
const MAX_ATTEMPTS = 100;
const BETWEEN_ATTEMPTS_MS = 100;
const LOCK_CONFLICT = /lock file ".*" (already exists|is empty)|shared memory block .* still in use/;

/** Whether there is a database in this DATA_DIR, running or not. */
export async function hasData(dataDir: string): Promise<boolean> {
  return (await findCluster(path.resolve(dataDir))) !== undefined;
}

/** Finds the server that a running instance of the service started on this DATA_DIR; undefined if none runs. */
export const findRunningPostgres = (
  dataDir: string,
): Promise<{ host: string; port: number; user: string } | undefined> =>
  onDataDir(dataDir, async (resolved) => {
    const dir = await findCluster(resolved);
    // An orphan does not count: the next start stops it.
    if (dir === undefined || (await findPostmaster(dir)).kind !== 'owned') return undefined;
    const file = await readPidFile(dir);
    return file && (await isListening(file)) ? { host: file.socketFolder, port: file.port, user: USER } : undefined;
  });

/** Starts the embedded PostgreSQL server on the cluster of `dataDir`, and creates the cluster if there is none. */
export const startEmbeddedPostgres = (
  options: { readonly dataDir: string } & StartOptions,
): Promise<EmbeddedPostgres> =>
  onDataDir(options.dataDir, async (dataDir) => {
    const made: Made = { cluster: [], folders: await makeDataDir(dataDir) };
    try {
      return await start(dataDir, made, options);
    } catch (error) {
      await discard(made);
      throw error;
    }
  });

async function start(dataDir: string, made: Made, { log, pooled }: StartOptions): Promise<EmbeddedPostgres> {
  const wasHere = await hasData(dataDir);
  const location = await locateCluster(dataDir);
  const clusterDir = location.dir;
  if (isInStateFolder(clusterDir)) made.folders.unshift(path.dirname(clusterDir));
  const binaries = await findBinaries(location.user, log);
  const isNew = await ensureCluster(location, binaries);
  if (isNew) made.cluster.push(clusterDir);
  if (isInStateFolder(clusterDir)) {
    await writeLocationNotes(dataDir, clusterDir);
    if (isNew) made.cluster.push(...locationNotes(dataDir));
    // Someone may have removed DATA_DIR and made it again: its data is still in the state folder.
    const earlier = !wasHere && !isNew ? ', with the data of an earlier folder of this name' : '';
    log(`the database of ${dataDir} is in ${clusterDir}${earlier}: to remove it, run tunnel-access data remove`);
  }
  const host = await socketFolder(location);
  const server = await serve(dataDir, { postgres: binaries.postgres, location, socketFolder: host, log, pooled });
  return { ...server, host, port: POSTGRES_PORT, user: USER, clusterDir, isNew, removeNew: () => discard(made) };
}

/** If another instance has started on the new cluster first, the cluster stays. */
async function discard({ cluster, folders }: Made): Promise<void> {
  const [dir] = cluster;
  if (dir !== undefined && (await findPostmaster(dir)).kind !== 'none') return;
  for (const file of cluster) await rm(file, { recursive: true, force: true });
  for (const folder of folders) await rmdir(folder).catch(() => undefined);
}

/**
 * If two instances start at once, PostgreSQL admits one server. The other instance's server exits, and its next attempt
 * finds the first instance running.
 */
async function serve(dataDir: string, options: ServerOptions): Promise<PostgresServer> {
  const { dir } = options.location;
  for (let attempt = 1; ; attempt += 1) {
    const stalePid = await requireNoServer(dataDir, dir, options.log);
    const server = await startServer(options, stalePid);
    if (!('failure' in server)) return server;
    if (attempt === MAX_ATTEMPTS || !LOCK_CONFLICT.test(server.failure)) {
      throw new OperatorError(
        `PostgreSQL did not start in ${dir}. Its output:\n${server.failure}` +
          'Correct that, or set DATA_DIR to another folder, or set DATABASE_URL to a PostgreSQL server.',
      );
    }
    await sleep(BETWEEN_ATTEMPTS_MS);
  }
}
