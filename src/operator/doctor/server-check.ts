import type { Client } from 'pg';
import type { Config } from '../../api/config/config.js';
import {
  attachEmbedded,
  type DatabaseServer,
  onlyRow,
  PrimaryClient,
  parseDatabaseUrl,
  withAdvice,
} from '../../database/index.js';
import { type Finding, ok, warning, wrong } from './finding.js';

const CONNECT_TIMEOUT_MS = 5_000;
const QUERY_TIMEOUT_MS = 10_000;

/** A connection to the primary, for the other checks. */
export interface Primary {
  readonly client: Client;
  readonly host: string;
  readonly isEmbedded: boolean;
}

export interface FoundServer {
  readonly findings: readonly Finding[];
  /** Undefined if no primary was found. */
  readonly primary: Primary | undefined;
  close(): Promise<void>;
}

/** Finds the server as the service does, but makes no database and does not wait for one. */
export async function findServer(config: Config): Promise<FoundServer> {
  const { databaseUrl, dataDir } = config;
  if (databaseUrl !== undefined) return connectTo(parseDatabaseUrl(databaseUrl), 'external');
  const attached = await attachEmbedded({ dataDir, log: () => undefined });
  if (attached === undefined) {
    const text = `there is no database in DATA_DIR ${dataDir} yet: the first start makes it; if there should already be one, set DATA_DIR or DATABASE_URL`;
    return { findings: [warning(text)], primary: undefined, close: () => Promise.resolve() };
  }
  const { server, embedded } = attached;
  if (embedded === undefined) return connectTo(server, 'a running instance has started it');
  const found = await connectTo(server, 'no instance runs; it was started for this check');
  return { ...found, close: () => found.close().then(() => embedded.stop()) };
}

async function connectTo(server: DatabaseServer, state: string): Promise<FoundServer> {
  const client = await connect(server);
  if (typeof client === 'string') {
    const findings = [wrong(`${server.name || 'the local socket'} cannot be used: ${client}`)];
    return { findings, primary: undefined, close: () => Promise.resolve() };
  }
  const primary = { client, host: server.name, isEmbedded: state !== 'external' };
  return { findings: [ok(await describe(primary, state))], primary, close: () => client.end() };
}

/** A connection to the primary, or a sentence that says why there is none. */
export async function connect(server: DatabaseServer, setting = 'DATABASE_URL'): Promise<Client | string> {
  const limits = { connectionTimeoutMillis: CONNECT_TIMEOUT_MS, query_timeout: QUERY_TIMEOUT_MS };
  try {
    return await new PrimaryClient({ server, application_name: 'tunnel-access doctor', ...limits }).connect();
  } catch (error) {
    return withAdvice(error, setting);
  }
}

/** The row of a query with exactly one row. */
export const rowOf = async <Row extends object>(client: Client, query: string): Promise<Row> =>
  onlyRow((await client.query<Row>(query)).rows);

async function describe({ client, host, isEmbedded }: Primary, state: string): Promise<string> {
  const { version, name, size } = await rowOf<{ version: string; name: string; size: string }>(
    client,
    `select split_part(current_setting('server_version'), ' ', 1) as version, current_database() as name,
       pg_size_pretty(pg_database_size(current_database())) as size`,
  );
  return isEmbedded
    ? `embedded PostgreSQL ${version}, ${size}; ${state}`
    : `PostgreSQL ${version} at ${host || 'the local socket'}, database ${name}, ${size}`;
}
