import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { findBinaries } from './binaries.js';
import { ensureCluster } from './cluster.js';
import { findCluster, placeCluster, writeLocationNote } from './cluster-location.js';
import { EmbeddedPostgresError, explained } from './embedded-postgres-error.js';
import { answers, findHolder, isRunning, readPidFile } from './postmaster.js';
import { PostgresServer, type ServerOptions } from './server.js';
import { POSTGRES_PORT, socketFolder } from './socket.js';

export { EmbeddedPostgresError };

/** A PostgreSQL server that this process started and must stop. */
export interface EmbeddedPostgres {
  /** The folder of the unix socket. */
  readonly host: string;
  readonly port: number;
  readonly user: string;
  readonly pid: number;
  /** Where the cluster really lives (differs from DATA_DIR when that is closed to the serving user). */
  readonly clusterDir: string;
  /** Whether initdb ran in this start. */
  readonly isNew: boolean;
  /** Fast shutdown (SIGINT); resolves when the server process has ended. Idempotent. */
  stop(): Promise<void>;
  /** Resolves with the exit code when the server ends for whatever reason. */
  readonly exited: Promise<number>;
}

type Log = (line: string) => void;

const USER = 'postgres';
/** How often a start is tried again while another one, or the remains of a killed server, holds the cluster: about 10 s. */
const MAX_ATTEMPTS = 100;
const BETWEEN_ATTEMPTS_MS = 100;
const IS_HELD = /lock file ".*" (already exists|is empty)|shared memory block .* still in use/;
/** A fast shutdown writes a checkpoint first. */
const ORPHAN_STOP_MS = 60_000;
const POLL_MS = 25;

/** Starts the PostgreSQL server that comes with the service on the cluster of `dataDir`, making that if there is none. */
export async function startEmbeddedPostgres(options: { dataDir: string; log: Log }): Promise<EmbeddedPostgres> {
  const dataDir = path.resolve(options.dataDir);
  try {
    return await start(dataDir, options.log);
  } catch (error) {
    throw explained(error, dataDir);
  }
}

/** Whether there is a database in this DATA_DIR, running or not. */
export async function hasData(dataDir: string): Promise<boolean> {
  return (await findCluster(path.resolve(dataDir))) !== undefined;
}

/** The server of a running copy on this DATA_DIR, for operator commands run beside the service; undefined when none runs. */
export async function findRunningPostgres(
  dataDir: string,
): Promise<{ host: string; port: number; user: string } | undefined> {
  try {
    const dir = await findCluster(path.resolve(dataDir));
    if (dir === undefined || (await findHolder(dir)).kind !== 'live') return undefined; // nor an orphan: the next start stops it
    const file = await readPidFile(dir);
    return file && (await answers(file)) ? { host: file.socketFolder, port: file.port, user: USER } : undefined;
  } catch (error) {
    throw explained(error, path.resolve(dataDir));
  }
}

async function start(dataDir: string, log: Log): Promise<EmbeddedPostgres> {
  const place = await placeCluster(dataDir);
  const binaries = await findBinaries(place.user, log);
  const isNew = await ensureCluster(place, binaries);
  const isElsewhere = await writeLocationNote(dataDir, place.dir);
  if (isElsewhere) log(`the database of ${dataDir} is really in ${place.dir}`);
  const host = await socketFolder(place);
  const options = { postgres: binaries.postgres, place, socketFolder: host, log };
  const server = await takeCluster(dataDir, options);
  return {
    host,
    port: POSTGRES_PORT,
    user: USER,
    pid: server.pid,
    clusterDir: place.dir,
    isNew,
    exited: server.exited,
    stop: () => server.stop(),
  };
}

/**
 * Starts a server, over an orphan's end if need be. Of two copies that start at once PostgreSQL lets one server in; the other's ends,
 * and its next look finds the first copy alive.
 */
async function takeCluster(dataDir: string, options: Omit<ServerOptions, 'stalePid'>): Promise<PostgresServer> {
  for (let attempt = 1; ; attempt += 1) {
    const holder = await findHolder(options.place.dir);
    if (holder.kind === 'live') throw inUse(dataDir, holder.who);
    if (holder.kind === 'orphan') {
      await stopOrphan(holder.pid, options.log);
      continue;
    }
    const server = await PostgresServer.spawn({ ...options, stalePid: holder.stalePid });
    if (await server.becameReady()) return server;
    if (attempt === MAX_ATTEMPTS || !IS_HELD.test(server.tail)) throw notStarted(options.place.dir, server.tail);
    await sleep(BETWEEN_ATTEMPTS_MS);
  }
}

async function stopOrphan(pid: number, log: Log): Promise<void> {
  log(`stopping the PostgreSQL server (process ${pid}) that a copy of the service left behind when it was killed`);
  process.kill(pid, 'SIGINT');
  for (const deadline = Date.now() + ORPHAN_STOP_MS; await isRunning(pid); await sleep(POLL_MS)) {
    if (Date.now() < deadline) continue;
    throw new EmbeddedPostgresError(
      `The PostgreSQL server (process ${pid}) that a killed copy of the service left behind does not stop: end it, then start again.`,
    );
  }
}

const inUse = (dataDir: string, who: string): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    `DATA_DIR ${dataDir} is in use by ${who}: stop it, or give this copy a DATA_DIR of its own, ` +
      'or let both share one database by setting DATABASE_URL for both.',
  );

const notStarted = (dir: string, tail: string): EmbeddedPostgresError =>
  new EmbeddedPostgresError(
    `PostgreSQL did not start in ${dir}. It said:\n${tail}` +
      'Put that right, or set DATA_DIR to another folder, or set DATABASE_URL to a PostgreSQL server.',
  );
