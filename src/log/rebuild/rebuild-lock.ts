import { randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { createMissing } from '../../database/create-missing.js';
import type { DedicatedConnections } from '../../database/dedicated-connections.js';
import { PostgresFailure } from '../../database/failure.js';
import { OperatorError } from '../../operator-error.js';
import { SHADOWS } from './table-shape.js';

const RUNNING = `${SHADOWS}.running`;

/**
 * Lets one rebuild run at a time. A connection can be lost unnoticed, so every transaction of a run holds the lock
 * itself: else a run could swap in the half-filled tables of another run. A table lock works behind a pooler and takes
 * no transaction id, which would make all later rows look new (see `MOVED_HEADS`).
 */
export class RebuildLock {
  private constructor(private readonly run: string) {}

  static async take(connections: DedicatedConnections): Promise<RebuildLock> {
    await createMissing(() => createTable(connections));
    const client = await connections.open();
    const lock = new RebuildLock(randomUUID());
    await connections.begin(client);
    await lock.register(client);
    await connections.begin(client);
    await lock.hold(client);
    return lock;
  }

  private async register(client: Client): Promise<void> {
    try {
      await client.query(`lock table ${RUNNING} in exclusive mode nowait`);
    } catch (error) {
      if (!PostgresFailure.of(error).isLockHeld) throw error;
      throw new OperatorError('another rebuild is running; run this one after it ends');
    }
    await client.query(`delete from ${RUNNING}; insert into ${RUNNING} values ('${this.run}'); commit`);
  }

  /** Keeps other runs out until the connection's transaction ends. Throws OperatorError if another run has begun. */
  async hold(client: Client): Promise<void> {
    await client.query(`lock table ${RUNNING} in row share mode`);
    const { rowCount } = await client.query(`select from ${RUNNING} where run = $1`, [this.run]);
    if (rowCount === 0)
      throw new OperatorError('this rebuild lost its connection, and another one has begun; this one stops');
  }
}

async function createTable(connections: DedicatedConnections): Promise<void> {
  const client = await connections.open();
  try {
    await connections.begin(client);
    await client.query(`create schema if not exists ${SHADOWS}`);
    await client.query(`create table if not exists ${RUNNING} (run uuid not null); commit`);
  } catch (error) {
    // A connection that was lost cannot be released, which must not hide why.
    await connections.release(client).catch(() => undefined);
    throw error;
  }
  await connections.release(client);
}
