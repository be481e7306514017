import type { AnyReadModel } from '../../event-log/index.js';
import { UsageError } from '../../kernel/operator-error.js';

/** The read model of the named table, or all read models if no table is named. */
export function chosenModels(models: readonly AnyReadModel[], name: string | undefined): readonly AnyReadModel[] {
  if (name === undefined) return models;
  const chosen = models.filter(({ tables }) => tables.some((table) => table.name === name));
  if (chosen.length > 0) return chosen;
  const known = models.flatMap(({ tables }) => tables.map((table) => table.name));
  throw new UsageError(`there is no read model with a table '${name}'; the tables are ${known.join(', ')}`);
}
