import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './binaries.js';
import { ensureCluster } from './cluster.js';
import { findCluster, isInStateFolder, locateCluster, locationNotes, writeLocationNote } from './cluster-location.js';
import { EmbeddedPostgresError, onDataDir } from './embedded-postgres-error.js';
import { missingFolders, type NewFolders, removeNew } from './new-folders.js';
import { findPostmaster, isListening, isRunning, readPidFile } from './postmaster.js';
import { PostgresServer, type ServerOptions } from './server.js';
import { POSTGRES_PORT, socketFolder } from './socket.js';

/** A PostgreSQL server that this process started and must stop. */
export interface EmbeddedPostgres {
  /** The folder of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly pid: number;
  /** The real path of the cluster, outside DATA_DIR if the serving user cannot enter that. */
  readonly clusterDir: string;
  /** Whether initdb ran in this start. */
  readonly isNew: boolean;
  /** Removes a cluster that this start has made, with the folders that it has made for it. For a stopped server. */
  removeNew(): Promise<void>;
  /** Fast shutdown (SIGINT); resolves when the server process has ended. Idempotent. */
  stop(): Promise<void>;
  /** Resolves with the exit code when the server ends for any reason. */
  readonly exited: Promise<number>;
}

type Log = (line: string) => void;

const USER = 'postgres';
/** Attempts while another start, or the remains of a killed server, lock the cluster: about 10 s in all. */
const MAX_ATTEMPTS = 100;
const BETWEEN_ATTEMPTS_MS = 100;
const LOCK_CONFLICT = /lock file ".*" (already exists|is empty)|shared memory block .* still in use/;
/** A fast shutdown writes a checkpoint first. */
const ORPHAN_STOP_MS = 60_000;
const POLL_MS = 25;

type StartOptions = Pick<ServerOptions, 'log' | 'pooled'>;

/** Starts the embedded PostgreSQL server on the cluster of `dataDir`, and creates the cluster if there is none. */
export const startEmbeddedPostgres = (
  options: { readonly dataDir: string } & StartOptions,
): Promise<EmbeddedPostgres> => onDataDir(options.dataDir, (dataDir) => start(dataDir, options));

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

async function start(dataDir: string, options: StartOptions): Promise<EmbeddedPostgres> {
  const made = { cluster: [] as string[], around: await missingFolders(dataDir) };
  try {
    return await startIn(dataDir, made, options);
  } catch (error) {
    await discard(made);
    throw error;
  }
}

/** Another instance may have started on the new cluster first: then it is that one's. */
async function discard(made: NewFolders): Promise<void> {
  const [dir] = made.cluster;
  const isServed = dir !== undefined && (await findPostmaster(dir)).kind !== 'none';
  if (!isServed) await removeNew(made);
}

async function startIn(
  dataDir: string,
  made: { readonly cluster: string[]; readonly around: string[] },
  { log, pooled }: StartOptions,
): Promise<EmbeddedPostgres> {
  const wasHere = await hasData(dataDir);
  const location = await locateCluster(dataDir);
  const binaries = await findBinaries(location.user, log);
  const isNew = await ensureCluster(location, binaries);
  if (isNew) made.cluster.push(location.dir);
  if (isNew && isInStateFolder(location.dir)) made.around.unshift(path.dirname(location.dir));
  const isElsewhere = await writeLocationNote(dataDir, location.dir);
  if (isNew && isElsewhere) made.cluster.push(...locationNotes(dataDir));
  if (isElsewhere) log(whereabouts(dataDir, location.dir, !wasHere && !isNew));
  const host = await socketFolder(location);
  const options = { postgres: binaries.postgres, location, socketFolder: host, log, pooled };
  const server = await startServer(dataDir, options);
  return {
    host,
    port: POSTGRES_PORT,
    user: USER,
    pid: server.pid,
    clusterDir: location.dir,
    isNew,
    removeNew: () => discard(made),
    exited: server.exited,
    stop: () => server.stop(),
  };
}

/** Says what a folder that was removed and made again would hide: its data is not in it. */
function whereabouts(dataDir: string, dir: string, isOfEarlierFolder: boolean): string {
  const earlier = isOfEarlierFolder ? ', with the data of an earlier folder of this name' : '';
  return `the database of ${dataDir} is in ${dir}${earlier}: to remove it, run tunnel-access data remove`;
}

/**
 * Stops an orphaned server if there is one, then starts a server. If two instances start at once, PostgreSQL admits one
 * server; the other instance's server exits, and its next attempt finds the first instance running.
 */
async function startServer(dataDir: string, options: Omit<ServerOptions, 'stalePid'>): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt += 1) {
    const postmaster = await findPostmaster(options.location.dir);
    if (postmaster.kind === 'owned') throw inUse(dataDir, postmaster.owner);
    if (postmaster.kind === 'orphan') {
      await stopOrphan(postmaster.pid, options.log);
      continue;
    }
    const server = await PostgresServer.spawn({ ...options, stalePid: postmaster.stalePid });
    if (await server.waitUntilReady()) return server;
    if (attempt === MAX_ATTEMPTS || !LOCK_CONFLICT.test(server.outputTail)) {
      throw notStarted(options.location.dir, server.outputTail);
    }
    await sleep(BETWEEN_ATTEMPTS_MS);
  }
}

export async function stopOrphan(pid: number, log: Log): Promise<void> {
  log(`stopping the PostgreSQL server (process ${pid}) that an instance of the service left behind when it was killed`);
  process.kill(pid, 'SIGINT');
  for (const deadline = Date.now() + ORPHAN_STOP_MS; await isRunning(pid); await sleep(POLL_MS)) {
    if (Date.now() < deadline) continue;
    throw new EmbeddedPostgresError(
      `The PostgreSQL server (process ${pid}) that a killed instance of the service left behind does not stop: end that process, then start again.`,
    );
  }
}

export const inUse = (dataDir: string, owner: string): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    `DATA_DIR ${dataDir} is in use by ${owner}: stop it, or set another DATA_DIR for this instance, ` +
      'or set DATABASE_URL for both, to share one database.',
  );

const notStarted = (dir: string, output: string): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    `PostgreSQL did not start in ${dir}. Its output:\n${output}` +
      'Correct that, or set DATA_DIR to another folder, or set DATABASE_URL to a PostgreSQL server.',
  );
