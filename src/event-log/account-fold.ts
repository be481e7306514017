import type { Client } from 'pg';
import { copyOut } from '../database/copy.js';
import { PostgresFailure } from '../database/failure.js';
import { LogFileError } from './log-file.js';
import type { AnyReadModel } from './read-model.js';
import { Folding, quoted, REPLAYED_COLUMNS } from './replay.js';
import { printersOf } from './row-printer.js';
import { RowWriter } from './row-writer.js';

/** Events read in one go: reading and writing share a connection, so a stretch is held before its rows are written. */
const EVENTS_AT_ONCE = 500;

/** Writes the rows of one account, which has none yet, into the live tables, in the transaction that wrote its events. */
export async function foldAccount(client: Client, model: AnyReadModel, account: string): Promise<void> {
  const { rows } = await client.query<{ schema: string }>('select current_schema() as schema');
  const writer = new RowWriter(client, await printersOf(client, model), rows[0]?.schema ?? '');
  const folding = new Folding(model);
  const write = async (streams: ReturnType<Folding['end']>): Promise<void> => {
    for (const { entity } of streams) if (entity !== undefined) await writer.write(entity);
    await writer.finish();
  };
  try {
    for await (const lines of stretches(client, model, account)) await write(folding.take(lines));
    await write(folding.end());
  } catch (error) {
    const { constraint } = PostgresFailure.of(error);
    if (constraint === undefined) throw error;
    // Not the server's detail: it shows the value, which may be the hash of a key.
    throw new LogFileError(`${constraint} is violated: another account of this database holds what may be held once`);
  }
}

/** The account's events in the order of `eventsOf`. */
async function* stretches(client: Client, model: AnyReadModel, account: string): AsyncGenerator<string[]> {
  for (const prefix of [...model.streamPrefixes].sort()) {
    let [stream, version] = [`${prefix}_`, '0'];
    for (;;) {
      const lines: string[] = [];
      const query = stretch(account, prefix, stream, version);
      for await (const batch of copyOut(client, query)) lines.push(...batch);
      const last = lines.at(-1)?.split('\t');
      if (last === undefined) break;
      yield lines;
      [, stream = '', version = ''] = last;
    }
  }
}

const stretch = (account: string, prefix: string, stream: string, version: string): string =>
  `select ${REPLAYED_COLUMNS.join(', ')} from events where account_id = ${quoted(account)}
    and (stream_id, stream_version) > (${quoted(stream)}, ${version}) and stream_id < '${prefix}\`'
    order by stream_id, stream_version limit ${EVENTS_AT_ONCE}`;
