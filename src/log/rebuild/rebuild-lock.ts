import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import type { DedicatedConnections } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import { RebuildError, SHADOWS } from './table-shape.js';

const RUNNING = `${SHADOWS}.running`;

/**
 * The right to rebuild. A connection's transaction keeps it from others, but a connection can be lost unnoticed, so each
 * transaction of the run asks, and keeps it for its own time: else one run would put the half-filled tables of another in
 * the place of the live ones. Locks of a table go with their transaction, whatever pooler stands between, and take no
 * transaction id, which would make all rows since then look new (see `MOVED_HEADS`).
 */
export class RebuildLock {
  private constructor(private readonly run: string) {}

  static async take(connections: DedicatedConnections): Promise<RebuildLock> {
    const client = await connections.open();
    await connections.begin(client);
    await client.query(`create schema if not exists ${SHADOWS}`);
    await client.query(`create table if not exists ${RUNNING} (run uuid not null); commit`);
    const turn = new RebuildLock(randomUUID());
    await connections.begin(client);
    await turn.register(client);
    await connections.begin(client);
    await turn.hold(client);
    return turn;
  }

  private async register(client: Client): Promise<void> {
    try {
      await client.query(`lock table ${RUNNING} in exclusive mode nowait`);
    } catch (error) {
      if (!PostgresFailure.of(error).isLockHeld) throw error;
      throw new RebuildError('another rebuild is running; wait for its end');
    }
    await client.query(`delete from ${RUNNING}; insert into ${RUNNING} values ('${this.run}'); commit`);
  }

  /** Keeps others from beginning until the transaction of this connection ends. Throws RebuildError when one has begun. */
  async hold(client: Client): Promise<void> {
    await client.query(`lock table ${RUNNING} in row share mode`);
    const { rowCount } = await client.query(`select from ${RUNNING} where run = $1`, [this.run]);
    if (rowCount === 0) throw new RebuildError('this rebuild lost its connection, and another one has begun; it stops');
  }
}
