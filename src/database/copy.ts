import type { Client } from 'pg';
import { from, to } from 'pg-copy-streams';

const LINE_END = 0x0a;
/** So that PostgreSQL goes on while what came is worked on. */
const READ_AHEAD_BYTES = 1 << 20;

/**
 * The rows of a query as lines of COPY's text format, in batches as they arrive. Little is read ahead: a slow
 * reader makes PostgreSQL wait. The query may hold no parameters; quote what is put into it.
 */
export async function* copyOut(client: Client, query: string): AsyncGenerator<string[]> {
  let rest: Buffer[] = [];
  const stream = to(`copy (${query}) to stdout`, { highWaterMark: READ_AHEAD_BYTES });
  for await (const chunk of client.query(stream)) {
    const bytes = chunk as Buffer;
    const end = bytes.lastIndexOf(LINE_END);
    if (end === -1) {
      rest.push(bytes);
      continue;
    }
    const text = rest.length === 0 ? bytes.toString('utf8', 0, end) : textOf([...rest, bytes.subarray(0, end)]);
    rest = end + 1 === bytes.length ? [] : [bytes.subarray(end + 1)];
    yield text.split('\n');
  }
}

const textOf = (parts: readonly Buffer[]): string => Buffer.concat(parts).toString('utf8');

/** Writes lines of COPY's text format, each ended by a line feed, into a table. */
export function copyIn(client: Client, table: string, columns: readonly string[], lines: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const stream = client.query(from(`copy ${table} (${columns.join(', ')}) from stdin`));
    stream.on('error', reject).on('finish', resolve).end(lines);
  });
}
