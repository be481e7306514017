import { once } from 'node:events';
import type { ClientBase } from 'pg';
import { from } from 'pg-copy-streams';

/** Writes rows in COPY's text format. `into`: the table, with its columns in brackets. */
export async function copyIn(client: ClientBase, into: string, rows: string): Promise<void> {
  const copy = client.query(from(`copy ${into} from stdin`));
  copy.end(rows);
  await once(copy, 'finish');
}
