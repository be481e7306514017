import { READ_MODELS } from '../../src/api/read-models.js';
import type { MaintenanceDatabase } from '../../src/database/dedicated-connections.js';
import type { AnyReadModel } from '../../src/event-log/read-model.js';
import { type ImportedLog, importLogs } from '../../src/event-log/transfer/log-import.js';

type Lists = AsyncIterable<readonly string[]> | readonly (readonly string[])[];

/** Imports the lines of a file, and resolves with its logs. */
export async function imported(
  database: MaintenanceDatabase,
  lists: Lists,
  models: readonly AnyReadModel[] = READ_MODELS,
): Promise<readonly ImportedLog[]> {
  const logs: ImportedLog[] = [];
  for await (const log of importLogs(database, models, asyncOf(lists))) logs.push(log);
  return logs;
}

async function* asyncOf(lists: Lists): AsyncGenerator<readonly string[]> {
  yield* lists;
}
