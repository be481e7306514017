import { once } from 'node:events';
import type { Client } from 'pg';
import { type CopyStreamQuery, from } from 'pg-copy-streams';
import { HEADER, TRAILER } from './copy-binary.js';

/**
 * A COPY into a table in binary format; it occupies the connection until its end. PostgreSQL allocates a thousand row
 * slots for each COPY, so one COPY for all rows is a fifth cheaper than one for every megabyte.
 */
export class CopyIn {
  private readonly stream: CopyStreamQuery;
  private readonly ended: Promise<void>;
  private failure: unknown;

  constructor(client: Client, table: string, columns: readonly string[]) {
    this.stream = client.query(from(`copy ${table} (${columns.join(', ')}) from stdin (format binary)`));
    this.ended = new Promise((resolve, reject) => void this.stream.on('error', reject).on('finish', resolve));
    this.stream.on('error', (failure) => {
      this.failure = failure;
    });
    // `write` and `end` throw the failure.
    this.ended.catch(() => undefined);
    this.stream.write(HEADER);
  }

  /** Resolves when PostgreSQL can accept more. */
  async write(rows: Buffer): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    // `once` rejects if the stream fails.
    if (!this.stream.write(rows)) await once(this.stream, 'drain');
  }

  /** Resolves when all rows are in the table. */
  async end(): Promise<void> {
    if (this.failure === undefined) this.stream.end(TRAILER);
    await this.ended;
  }
}
