import type { Client } from 'pg';
import type { EntityRow } from '../read-model.js';
import type { ReplayedStream } from '../replay/replay.js';
import { SHADOWS } from './table-shape.js';

/** A shorter stream is as quick to read again as to look up. */
const MIN_VERSION = 16;
/** An entity can take some ten kilobytes. */
const MAX_STREAMS = 1000;

/**
 * Caches the entities that changed last, as the shadows show them, so that a catch-up folds only their new events.
 * Without it a swap would never have enough time for a long stream that changes constantly.
 */
export class KnownStreams {
  /** In the order of their last change. */
  private readonly entities = new Map<string, EntityRow>();

  readonly entityOf = (accountId: string, id: string): EntityRow | undefined => this.entities.get(keyOf(accountId, id));

  /** Yields the streams again. */
  async *recordAll(replayed: AsyncIterable<readonly ReplayedStream[]>): AsyncGenerator<readonly ReplayedStream[]> {
    for await (const streams of replayed) {
      for (const stream of streams) this.record(stream);
      yield streams;
    }
  }

  private record({ accountId, id, entity }: ReplayedStream): void {
    const key = keyOf(accountId, id);
    this.entities.delete(key);
    if (entity === undefined || entity.version < MIN_VERSION) return;
    this.entities.set(key, entity);
    const [first = ''] = this.entities.keys();
    if (this.entities.size > MAX_STREAMS) this.entities.delete(first);
  }

  /** Stores their versions in the database, in the transaction that writes their rows into the shadows. */
  async save(client: Client): Promise<void> {
    const known = [...this.entities.values()];
    await client.query(`delete from ${SHADOWS}.known`);
    await client.query(`insert into ${SHADOWS}.known select * from unnest($1::text[], $2::text[], $3::int[])`, [
      known.map(({ account_id }) => account_id),
      known.map(({ id }) => id),
      known.map(({ version }) => version),
    ]);
  }
}

const keyOf = (accountId: string, id: string): string => `${accountId} ${id}`;
