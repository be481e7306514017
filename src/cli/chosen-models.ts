import type { AnyReadModel } from '../log/read-model.js';
import { UsageError } from './exit-codes.js';

/** The read model that a table belongs to, or all of them without a name. */
export function chosenModels(models: readonly AnyReadModel[], name: string | undefined): readonly AnyReadModel[] {
  if (name === undefined) return models;
  const chosen = models.filter(({ tables }) => tables.some((table) => table.name === name));
  if (chosen.length > 0) return chosen;
  const known = models.flatMap(({ tables }) => tables.map((table) => table.name));
  throw new UsageError(`there is no read model '${name}'; there are ${known.join(', ')}`);
}
