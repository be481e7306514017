import { pipeline } from 'node:stream/promises';
import type { ClientBase } from 'pg';
import { from } from 'pg-copy-streams';

/**
 * Writes rows that are in COPY's text format. `into` is the table, with its columns in brackets. PostgreSQL reads a
 * whole block before it inserts the first row, so the blocks should be small.
 */
export async function copyIn(
  client: ClientBase,
  into: string,
  blocks: AsyncIterable<string | Buffer> | readonly string[],
): Promise<void> {
  await pipeline(blocks, client.query(from(`copy ${into} from stdin`)));
}
