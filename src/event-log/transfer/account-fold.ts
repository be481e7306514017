import type { Client } from 'pg';
import { fetchRows, IN_INDEX_ORDER, PostgresFailure } from '../../database/index.js';
import { eventsOf, foldedChunks, type Scope } from '../fold/folded-chunks.js';
import { logRows } from '../fold/row-comparison.js';
import { ReplayError, type StoredEvent } from '../fold/stream-fold.js';
import type { AnyReadModel } from '../read-model.js';
import { LogFileError } from './log-file.js';

/** Writes the rows of one new account into the live tables, in the transaction that wrote its events. */
export async function foldAccount(
  client: Client,
  model: AnyReadModel,
  account: string,
  onEvents: (count: number) => void,
): Promise<void> {
  try {
    await client.query(IN_INDEX_ORDER);
    // The streams of one prefix are one range of the index.
    for (const prefix of model.streamPrefixes) {
      await insertRows(client, { models: [{ ...model, streamPrefixes: [prefix] }], account }, onEvents);
    }
  } catch (error) {
    // The cursor is still open.
    if (error instanceof ReplayError) await client.query('close all');
    const { constraint, isAboutData, isUniqueViolation } = PostgresFailure.of(error);
    // The message of the server is left out, because it shows the value, which may be the hash of a key.
    if (isUniqueViolation) {
      throw new LogFileError(
        `${constraint} is violated: another account of this database has the same value, or one that excludes it`,
      );
    }
    if (!isAboutData) throw error;
    throw new LogFileError(
      `an event of account ${account} makes a row that ${model.tables[0]?.name} does not take: its data lacks a field, or has a value that no version of the service writes`,
    );
  }
}

async function insertRows(client: Client, scope: Scope, onEvents: (count: number) => void): Promise<void> {
  const { text, values } = eventsOf(scope);
  for await (const chunk of foldedChunks(fetchRows<StoredEvent>(client, text, values), scope.models)) {
    for (const [table, rows] of chunk.rows) {
      await client.query(`insert into ${table.name} (${table.columns}) ${logRows(table)}`, [JSON.stringify(rows)]);
    }
    onEvents(chunk.events);
  }
}
