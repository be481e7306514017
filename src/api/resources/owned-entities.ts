import type { Ref } from '../../database/index.js';
import type { StreamAppend } from '../../event-log/index.js';
import type { EntityQueries } from './entity-queries.js';
import type { OwnedResourceDescriptor } from './resource-descriptor.js';

/** Entities that one append removes: a bot may own any number, and a row may hold a key of 16 KiB. */
const MAX_REMOVED_AT_ONCE = 200;

/** The entities that belong to a user or bot and are deleted with it. */
export class OwnedEntities {
  constructor(
    private readonly entities: EntityQueries,
    private readonly resources: readonly OwnedResourceDescriptor<object>[],
  ) {}

  /** Returns appends that delete the owner's next live entities after an id, in the order of ids; empty if there are none. */
  async removalsOf(owner: Ref, afterId = ''): Promise<StreamAppend[]> {
    const removals = this.resources.map(async (resource) => {
      const { model, removal } = resource;
      const owned = await this.entities.ofOwner(resource, owner, afterId, MAX_REMOVED_AT_ONCE);
      return owned.map((entity) => ({ model, id: entity.id, before: entity, events: [removal], after: undefined }));
    });
    const all = (await Promise.all(removals)).flat();
    return all.sort((one, other) => (one.id < other.id ? -1 : 1)).slice(0, MAX_REMOVED_AT_ONCE);
  }
}
