import { READ_MODELS } from '../../src/api/read-models.js';
import type { MaintenanceDatabase } from '../../src/database/dedicated-connections.js';
import type { Scope } from '../../src/event-log/fold/folded-chunks.js';
import { type Repaired, repair } from '../../src/event-log/fold/repair.js';
import type { Difference } from '../../src/event-log/fold/row-comparison.js';

/** Repairs the rows of all read models, or of some. Returns what it found and wrote. */
export async function repaired(
  database: MaintenanceDatabase,
  chosen: Partial<Scope> = {},
  onEvents: (count: number) => void = () => undefined,
): Promise<Repaired & { readonly found: readonly Difference[] }> {
  const found: Difference[] = [];
  const watcher = {
    begin: () => undefined,
    events: onEvents,
    difference: (one: Difference) => found.push(one),
  };
  return { ...(await repair(database, { models: READ_MODELS, ...chosen }, watcher)), found };
}
