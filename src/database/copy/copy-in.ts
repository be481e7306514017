import { pipeline } from 'node:stream/promises';
import type { ClientBase } from 'pg';
import { from } from 'pg-copy-streams';

/**
 * Writes rows in COPY's text format. `into`: the table, with its columns in brackets. PostgreSQL reads a block whole before
 * it inserts the first row of it, so the blocks should be small beside the whole.
 */
export async function copyIn(
  client: ClientBase,
  into: string,
  blocks: AsyncIterable<string | Buffer> | readonly string[],
): Promise<void> {
  await pipeline(blocks, client.query(from(`copy ${into} from stdin`)));
}
