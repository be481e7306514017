import type { Ref } from './database/coalesce.js';
import type { Part } from './event-log/streams.js';

/** Injection token: a list of OwnedThings, everything that goes when its owner is deleted. */
export const OWNED_THINGS = Symbol('owned things');

/** Things that belong to a user or a bot. Offered by the slice that has them, so that slices need not know each other. */
export interface OwnedThings {
  /** What their deletion adds to the log, one part for each live thing of this owner. */
  removalOf(owner: Ref, occurredAt: Date): Promise<readonly Part[]>;
}
