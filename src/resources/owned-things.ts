import type { Ref } from '../database/coalesce.js';
import type { Part } from './changes.js';

/** Injection token: a list of OwnedThings, everything that goes when its owner is deleted. */
export const OWNED_THINGS = Symbol('owned things');

/** How many things one append takes away: a bot may own any number, and each may hold a key of 16 KiB. */
export const MAX_REMOVED_AT_ONCE = 200;

/** Things that belong to a user or a bot. Offered by the slice that has them, so that slices need not know each other. */
export interface OwnedThings {
  /** What the deletion of at most MAX_REMOVED_AT_ONCE live things of this owner adds to the log. Empty: there are none left. */
  removalOf(owner: Ref, occurredAt: Date): Promise<readonly Part[]>;
}

/** The rule of the tables of owned things, by the name their trigger reports: nothing new for a deleted owner. */
export const OWNER_DELETED_CONSTRAINT = 'owner_deleted';
