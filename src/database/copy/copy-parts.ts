import type { ClientBase } from 'pg';
import { to } from 'pg-copy-streams';

/** A part that is worth a message to another thread; memory holds a few. */
const BYTES = 1 << 18;
const LINE_FEED = 0x0a;

/** What a COPY TO STDOUT sends, in parts of whole lines and of about this size. */
export async function* copyParts(client: ClientBase, copy: string): AsyncGenerator<Buffer> {
  const stream = client.query(to(copy));
  // A caller that stops early listens no longer.
  stream.on('error', () => undefined);
  let chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of stream as AsyncIterable<Buffer>) {
    chunks.push(chunk);
    bytes += chunk.length;
    const end = bytes < BYTES ? 0 : chunk.lastIndexOf(LINE_FEED) + 1;
    if (end === 0) continue;
    const next = chunk.subarray(end);
    chunks[chunks.length - 1] = chunk.subarray(0, end);
    yield Buffer.concat(chunks);
    [chunks, bytes] = [[next], next.length];
  }
  if (bytes > 0) yield Buffer.concat(chunks);
}
