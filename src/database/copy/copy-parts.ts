import type { ClientBase } from 'pg';
import { to } from 'pg-copy-streams';

/** A part that is worth a message to another thread; memory holds a few. */
const BYTES = 1 << 18;

/** What a COPY TO STDOUT sends, in parts of about this size. */
export async function* copyParts(client: ClientBase, copy: string): AsyncGenerator<Buffer> {
  const stream = client.query(to(copy));
  // A caller that stops early listens no longer.
  stream.on('error', () => undefined);
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes < BYTES) continue;
    yield Buffer.concat(chunks);
    [chunks, bytes] = [[], 0];
  }
  yield Buffer.concat(chunks);
}
