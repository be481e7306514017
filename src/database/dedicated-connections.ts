import type pg from 'pg';
import { connectDedicated } from './connect.js';
import type { Database } from './database.js';
import { DatabaseUnreachable } from './failure.js';
import { PrimaryClient } from './primary-pool.js';
import { FREE_PLANS } from './role-defaults.js';

/**
 * Switches the server's time limits off for one transaction, and lets it read whole tables. JIT stays off: some
 * transactions switch scans off again, which raises the estimated costs, and PostgreSQL would then compile small
 * statements.
 */
const SETTINGS = `set local statement_timeout = 0; set local lock_timeout = 0;
  set local idle_in_transaction_session_timeout = 0; ${FREE_PLANS}; set local jit = off`;
/** The first version of PostgreSQL that has `transaction_timeout`. */
const TRANSACTION_TIMEOUT_SINCE = 170_000;

/** The database of a long operation, and the signal that interrupts it. */
export interface MaintenanceDatabase extends Pick<Database, 'pool'> {
  readonly interrupt?: AbortSignal;
}

/**
 * Connections of one long operation, outside the pool and its time limit. The signal of the operation ends them: the
 * pending statements fail, and the server rolls back their transactions.
 */
export class DedicatedConnections {
  private readonly clients: pg.Client[] = [];
  /** The connections that were released. */
  private readonly idle = new Set<pg.Client>();
  private settings: string | undefined;
  /** One of two concurrent tasks may fail while the other still opens connections. */
  private isEnded = false;

  private constructor(private readonly database: MaintenanceDatabase) {}

  static async use<T>(
    database: MaintenanceDatabase,
    work: (connections: DedicatedConnections) => Promise<T>,
  ): Promise<T> {
    const connections = new DedicatedConnections(database);
    const end = (): void => void connections.end();
    database.interrupt?.addEventListener('abort', end);
    try {
      return await work(connections);
    } finally {
      database.interrupt?.removeEventListener('abort', end);
      await connections.end();
    }
  }

  /** Gives a connection that was released, or a new one. */
  async open(): Promise<pg.Client> {
    for (const client of this.idle) {
      this.idle.delete(client);
      return client;
    }
    const client = await connectDedicated(this.database.pool);
    this.clients.push(client);
    client.once('end', () => this.idle.delete(client));
    if (this.isEnded || this.database.interrupt?.aborted) await client.end();
    this.settings ??= await settingsFor(client);
    return client;
  }

  /** Rolls back an open transaction, and keeps the connection for the next `open`. */
  async release(client: pg.Client): Promise<void> {
    if (client.getTransactionStatus() !== 'I') await client.query('rollback');
    this.idle.add(client);
  }

  /** Begins a transaction with SETTINGS. They are local to it, because a pooler reuses the connection. */
  async begin(client: pg.Client, mode = ''): Promise<void> {
    await client.query(`begin ${mode}; ${this.settings}`);
  }

  /** Opens a connection in a transaction with one snapshot: the given one, or a new one. */
  async openSnapshot(snapshot?: string): Promise<pg.Client> {
    const client = await this.open();
    await this.begin(client, 'isolation level repeatable read');
    if (snapshot !== undefined) await client.query(`set transaction snapshot '${snapshot}'`);
    return client;
  }

  /** Exports the snapshot of a connection, so that other connections can open with it. */
  async exportSnapshot(client: pg.Client): Promise<string> {
    const { rows } = await client.query<{ snapshot: string }>('select pg_export_snapshot() as snapshot');
    return rows[0]?.snapshot ?? '';
  }

  /** Opens a connection in a transaction that can write. */
  async openTransaction(): Promise<pg.Client> {
    const client = await this.open();
    await this.begin(client);
    return client;
  }

  /** Throws if the server answered success although it cancelled the wait for a standby. */
  async commit(client: pg.Client): Promise<void> {
    await client.query('commit');
    if (!(client instanceof PrimaryClient && client.hasUnconfirmedCommit)) return;
    throw new DatabaseUnreachable('no standby has confirmed the commit', { wasSent: true });
  }

  async end(): Promise<void> {
    this.isEnded = true;
    await Promise.allSettled(this.clients.map((client) => client.end()));
  }
}

/** Runs outside of a transaction, because a query inside would already take its snapshot. */
async function settingsFor(client: pg.Client): Promise<string> {
  const { rows } = await client.query<{ server_version_num: string }>('show server_version_num');
  const hasTransactionTimeout = Number(rows[0]?.server_version_num) >= TRANSACTION_TIMEOUT_SINCE;
  return hasTransactionTimeout ? `${SETTINGS}; set local transaction_timeout = 0` : SETTINGS;
}
