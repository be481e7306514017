import { type Caller, isAdmin } from '../caller.js';
import { Problem } from '../problem.js';

/** Who may do what. Every rule that names a role or an owner stands here. */

/** What only admins may do, and how anyone else is refused. */
const ADMINS_ONLY = {
  'manage principals': 'Only admins may manage users and bots.',
  'read the log': 'Only admins may read the log: it shows who did what, and from where.',
  'read bind decisions': 'Only admins may read bind decisions.',
} as const;

export function refuseUnlessAdmin(caller: Caller, action: keyof typeof ADMINS_ONLY): void {
  if (!isAdmin(caller)) throw new Problem('role_missing', ADMINS_ONLY[action]);
}

/** True of an admin and of the owner of the entity. A resource without owners has admins only. */
export const isOwnerOrAdmin = (caller: Caller, entity: object): boolean =>
  isAdmin(caller) || ('owner_id' in entity && entity.owner_id === caller.principalId);

/** For a resource that everyone of the account may read. A refusal tells nothing new, so it is 403, not 404. */
export function refuseUnlessOwnerOrAdmin(caller: Caller, entity: object, resource: string): void {
  if (isOwnerOrAdmin(caller, entity)) return;
  throw new Problem('role_missing', `Only its owner or an admin may change or delete this ${resource}.`);
}

/** A history shows who changed the entity, and from where. */
export function refuseUnlessMayReadHistory(caller: Caller, entity: object): void {
  if (isOwnerOrAdmin(caller, entity)) return;
  throw new Problem('role_missing', 'Only an admin, or the owner of a resource that has one, may read its history.');
}

/** The owner that a caller names for a new entity; the caller when none is named. Checked before any look-up of that owner. */
export function requireOwnOrAdmin(caller: Caller, named: string | undefined): string {
  const ownerId = named === undefined || named === '' ? caller.principalId : named;
  if (ownerId === caller.principalId || isAdmin(caller)) return ownerId;
  throw new Problem('owner_not_yours', 'Only admins may name an owner other than themselves; leave owner_id out.');
}
