import type { Client } from 'pg';
import { oneByOne } from '../../database/cursor.js';
import { PostgresFailure } from '../../database/failure.js';
import type { AnyReadModel } from '../read-model.js';
import { copyInto } from '../replay/copy-rows.js';
import { eventsOf, IN_INDEX_ORDER, ReplayError, replay } from '../replay/replay.js';
import { sendRows } from '../replay/send-rows.js';
import { LogFileError } from './log-file.js';

/** Writes the rows of one new account into the live tables, in the transaction that wrote its events. */
export async function foldAccount(
  client: Client,
  model: AnyReadModel,
  account: string,
  onEvents: (count: number) => void,
): Promise<void> {
  await client.query(IN_INDEX_ORDER);
  const { rows } = await client.query<{ schema: string }>('select current_schema() as schema');
  const run = oneByOne();
  const targets = await copyInto(client, model, rows[0]?.schema ?? '', run);
  const folded = sendRows(replay(client, model, eventsOf(model, account), { onEvents, run }), targets);
  try {
    await folded.catch(async (error) => {
      // Its cursor is still open, and a statement may be under way.
      if (error instanceof ReplayError) await run(() => client.query('close all'));
      throw error;
    });
  } catch (error) {
    const { constraint } = PostgresFailure.of(error);
    if (constraint === undefined) throw error;
    // Leaves out the server's detail, which shows the value: it may be the hash of a key.
    throw new LogFileError(
      `${constraint} is violated: another account of this database has the same value, which must be unique`,
    );
  }
}
