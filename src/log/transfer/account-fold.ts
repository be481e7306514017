import type { Client } from 'pg';
import { copyOut } from '../../database/copy-out.js';
import { PostgresFailure } from '../../database/failure.js';
import type { AnyReadModel } from '../read-model.js';
import { Folding, REPLAYED_COLUMNS, type ReplayedStream, sqlLiteral } from '../replay/replay.js';
import { encodersOf } from '../replay/row-encoder.js';
import { RowWriter } from '../replay/row-writer.js';
import { LogFileError } from './log-file.js';

/** Reading and writing share a connection, so a batch is held in memory before its rows are written. */
const EVENTS_PER_BATCH = 500;

/** Writes the rows of one new account into the live tables, in the transaction that wrote its events. */
export async function foldAccount(client: Client, model: AnyReadModel, account: string): Promise<void> {
  const { rows } = await client.query<{ schema: string }>('select current_schema() as schema');
  const writer = new RowWriter(client, await encodersOf(client, model), rows[0]?.schema ?? '');
  const folding = new Folding(model);
  const write = async (streams: readonly ReplayedStream[]): Promise<void> => {
    for (const { entity } of streams) if (entity !== undefined) await writer.write(entity);
    await writer.finish();
  };
  try {
    for await (const streams of batchesOf(client, model, folding, account)) await write(streams);
    await write(folding.end());
  } catch (error) {
    const { constraint } = PostgresFailure.of(error);
    if (constraint === undefined) throw error;
    // Leaves out the server's detail, which shows the value: it may be the hash of a key.
    throw new LogFileError(
      `${constraint} is violated: another account of this database has the same value, which must be unique`,
    );
  }
}

/** Folds the account's events in the order of `eventsOf`. Yields the streams that ended in each batch. */
async function* batchesOf(
  client: Client,
  model: AnyReadModel,
  folding: Folding,
  account: string,
): AsyncGenerator<ReplayedStream[]> {
  for (const prefix of [...model.streamPrefixes].sort()) {
    let last = { id: `${prefix}_`, version: 0 };
    for (;;) {
      const ended: ReplayedStream[] = [];
      let events = 0;
      for await (const rows of copyOut(client, batchQuery(account, prefix, last))) {
        ended.push(...folding.take(rows));
        events += rows.starts.length;
      }
      if (events === 0) break;
      yield ended;
      last = folding.last;
    }
  }
}

const batchQuery = (account: string, prefix: string, { id, version }: { id: string; version: number }): string =>
  `select ${REPLAYED_COLUMNS.join(', ')} from events where account_id = ${sqlLiteral(account)}
    and (stream_id, stream_version) > (${sqlLiteral(id)}, ${version}) and stream_id < '${prefix}\`'
    order by stream_id, stream_version limit ${EVENTS_PER_BATCH}`;
