import type { Client } from 'pg';
import type { EntityRow } from '../read-model.js';
import type { ReplayedStream } from '../replay/replay.js';
import { SHADOWS } from './table-shape.js';

/** Shorter streams are read again as quickly as they are looked up. */
const LEAST_VERSION = 16;
/** An entity can be some ten kilobytes. */
const MOST_KNOWN = 1000;

/**
 * What the shadows show of the streams that changed last, so that of these only the new events are to be folded: else a
 * swap would never have the time for a stream that is long and changes all the time.
 */
export class KnownStreams {
  /** The one that changed last stands last. */
  private readonly entities = new Map<string, EntityRow>();

  readonly entityOf = (accountId: string, id: string): EntityRow | undefined => this.entities.get(keyOf(accountId, id));

  note({ accountId, id, entity }: ReplayedStream): void {
    const key = keyOf(accountId, id);
    this.entities.delete(key);
    if (entity === undefined || entity.version < LEAST_VERSION) return;
    this.entities.set(key, entity);
    const [first = ''] = this.entities.keys();
    if (this.entities.size > MOST_KNOWN) this.entities.delete(first);
  }

  /** Tells the database which they are, in the transaction that makes the shadows show them. */
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
