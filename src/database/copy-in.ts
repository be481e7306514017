import { once } from 'node:events';
import type { Client } from 'pg';
import { type CopyStreamQuery, from } from 'pg-copy-streams';
import { HEADER, TRAILER } from './copy-binary.js';

/**
 * A COPY into a table, in its binary format. PostgreSQL makes a thousand slots for rows when one begins, so one for all rows
 * costs it a fifth less than one for every megabyte. Until its end the connection can do nothing else.
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
    // Thrown by who writes or ends.
    this.ended.catch(() => undefined);
    this.stream.write(HEADER);
  }

  /** Resolves when PostgreSQL can take more. */
  async write(rows: Buffer): Promise<void> {
    if (this.failure !== undefined) throw this.failure;
    // Rejects when the stream fails.
    if (!this.stream.write(rows)) await once(this.stream, 'drain');
  }

  /** Resolves when all rows are in the table. */
  async end(): Promise<void> {
    if (this.failure === undefined) this.stream.end(TRAILER);
    await this.ended;
  }
}
