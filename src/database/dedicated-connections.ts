import type pg from 'pg';
import { connectDedicated, type Database } from './database.js';

/** Settings of a long transaction: no time limits of the server's. */
const LONG = `set local statement_timeout = 0; set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = 0`;
/** The first version of PostgreSQL that has `transaction_timeout`. */
const TRANSACTION_TIMEOUT_SINCE = 170_000;

/** A database that a long operation works on, and what tells it to stop. */
export interface MaintenanceDatabase extends Pick<Database, 'dataSource'> {
  readonly interrupt?: AbortSignal;
}

/**
 * Connections of one long operation, apart from the pool and its time limit. Ending them is how such an operation is
 * interrupted at any point: what they do fails here, and the server rolls it back.
 */
export class DedicatedConnections {
  private readonly clients: pg.Client[] = [];
  private long: string | undefined;
  /** Of two things that work side by side one may fail while the other still opens connections. */
  private isEnded = false;

  private constructor(private readonly place: MaintenanceDatabase) {}

  static async use<T>(place: MaintenanceDatabase, work: (connections: DedicatedConnections) => Promise<T>): Promise<T> {
    const connections = new DedicatedConnections(place);
    const end = (): void => void connections.end();
    place.interrupt?.addEventListener('abort', end);
    try {
      return await work(connections);
    } finally {
      place.interrupt?.removeEventListener('abort', end);
      await connections.end();
    }
  }

  async open(): Promise<pg.Client> {
    const client = await connectDedicated(this.place.dataSource);
    this.clients.push(client);
    if (this.isEnded || this.place.interrupt?.aborted) await client.end();
    this.long ??= await settingsOf(client);
    return client;
  }

  /** Begins a long transaction. All that a connection is set to ends with it: behind a pooler others have it next. */
  async begin(client: pg.Client, mode = ''): Promise<void> {
    await client.query(`begin ${mode}; ${this.long}`);
  }

  /** A connection inside a transaction that sees one moment, as all others with the same `snapshot` do. */
  async openSnapshot(snapshot?: string): Promise<pg.Client> {
    const client = await this.open();
    await this.begin(client, 'isolation level repeatable read');
    if (snapshot !== undefined) await client.query(`set transaction snapshot '${snapshot}'`);
    return client;
  }

  /** A connection inside a transaction that writes. */
  async openTransaction(): Promise<pg.Client> {
    const client = await this.open();
    await this.begin(client);
    return client;
  }

  async end(): Promise<void> {
    this.isEnded = true;
    await Promise.allSettled(this.clients.map((client) => client.end()));
  }
}

/** Asked for before any transaction: in one, a question would fix the moment that it sees. */
async function settingsOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
  const isKnown = Number(rows[0]?.server_version_num) >= TRANSACTION_TIMEOUT_SINCE;
  return isKnown ? `${LONG}; set local transaction_timeout = 0` : LONG;
}

/** Names the moment that a connection of `openSnapshot` sees. */
export async function snapshotOf(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot');
  return rows[0]?.snapshot ?? '';
}
