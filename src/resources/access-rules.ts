import { type Caller, isAdmin } from '../caller.js';
import { Problem } from '../problem.js';

/** The access rules: every rule about roles and owners is in this file. */

/** Actions for admins only, each with the message of its refusal. */
const ADMINS_ONLY = {
  'manage principals': 'Only admins may manage users and bots.',
  'read the log': 'Only admins may read the log: it shows who did what, and from where.',
  'read bind decisions': 'Only admins may read bind decisions.',
} as const;

export function refuseUnlessAdmin(caller: Caller, action: keyof typeof ADMINS_ONLY): void {
  if (!isAdmin(caller)) throw new Problem('role_missing', ADMINS_ONLY[action]);
}

/** True for admins and for the owner of the entity. An entity without an owner is for admins only. */
export const isOwnerOrAdmin = (caller: Caller, entity: object): boolean =>
  isAdmin(caller) || ('owner_id' in entity && entity.owner_id === caller.principalId);

/** 403, not 404: everyone in the account may read the resource, so the refusal reveals no secret. */
export function refuseUnlessOwnerOrAdmin(caller: Caller, entity: object, resource: string): void {
  if (isOwnerOrAdmin(caller, entity)) return;
  throw new Problem('role_missing', `Only its owner or an admin may change or delete this ${resource}.`);
}

/** For the owner and admins only: a history shows who changed the entity, and from where. */
export function refuseUnlessMayReadHistory(caller: Caller, entity: object): void {
  if (isOwnerOrAdmin(caller, entity)) return;
  throw new Problem('role_missing', 'Only admins and the owner of the resource, if it has one, may read its history.');
}

/** Returns the owner of a new entity: the named one, or else the caller. Runs before any look-up of the owner. */
export function requireOwnOrAdmin(caller: Caller, named: string | undefined): string {
  const ownerId = named === undefined || named === '' ? caller.principalId : named;
  if (ownerId === caller.principalId || isAdmin(caller)) return ownerId;
  throw new Problem('owner_not_yours', 'Only admins may name an owner other than themselves; leave owner_id out.');
}

/** An owner may live in the operator's own directory, so its id may have any form that is safe to show. */
export function requireWellFormedOwnerId(ownerId: string): void {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(ownerId)) return;
  throw new Problem('request_malformed', 'owner_id must be 1 to 128 characters of A-Z, a-z, 0-9, _ and -.');
}
