import { type Caller, isAdmin } from '../../kernel/caller.js';
import { malformed, Problem } from '../../kernel/problem.js';

/** The access rules: every rule about roles and owners is in this file. */

/** Users and bots are for admins only. */
export function refuseUnlessMayManagePrincipals(caller: Caller): void {
  if (!isAdmin(caller)) throw new Problem('role_missing', 'Only admins may manage users and bots.');
}

/** An enrollment key makes credentials for whoever has it. */
export function refuseUnlessMayManageEnrollment(caller: Caller): void {
  if (!isAdmin(caller)) throw new Problem('role_missing', 'Only admins may create and delete enrollment keys.');
}

/** The same for a key that was deleted before the request, and for one that was deleted meanwhile. */
export const unknownEnrollmentKey = (): Problem =>
  new Problem('api_key_unknown', 'The enrollment key is unknown or was deleted; ask for another one.');

/** Auditors change nothing, not even their own keys and credentials: a stolen key of a collector can do no harm. */
export function refuseUnlessMayChange({ role }: Pick<Caller, 'role'>): void {
  if (role !== 'auditor') return;
  throw new Problem('role_missing', 'Auditors read everything of the account and change nothing; ask an admin.');
}

/** Whether the caller reads everything of the account, and not only what is shared with members. */
export const readsEverything = (caller: Pick<Caller, 'role'>): boolean => isAdmin(caller) || caller.role === 'auditor';

/** What only admins and auditors may read, each with the message of its refusal. */
const NOT_FOR_MEMBERS = {
  'the log': 'Only admins and auditors may read the log: it shows who did what, and from where.',
  'bind decisions': 'Only admins and auditors may read bind decisions.',
  'tunnel records': 'Only admins and auditors may read the records of tunnels.',
} as const;

export function refuseUnlessReadsEverything(caller: Caller, what: keyof typeof NOT_FOR_MEMBERS): void {
  if (!readsEverything(caller)) throw new Problem('role_missing', NOT_FOR_MEMBERS[what]);
}

/** True for admins and for the owner of the entity. An entity without an owner is for admins only. */
export const isOwnerOrAdmin = (caller: Caller, entity: object): boolean => isAdmin(caller) || isOwner(caller, entity);

/** The same for a read of what members do not share. */
export const mayReadPrivate = (caller: Caller, entity: object): boolean =>
  readsEverything(caller) || isOwner(caller, entity);

const isOwner = ({ principalId }: Caller, entity: object): boolean =>
  'owner_id' in entity && entity.owner_id === principalId;

/** 403, not 404: everyone in the account may read the resource, so the refusal reveals no secret. */
export function refuseUnlessOwnerOrAdmin(caller: Caller, entity: object, resource: string): void {
  if (isOwnerOrAdmin(caller, entity)) return;
  throw new Problem('role_missing', `Only its owner or an admin may change or delete this ${resource}.`);
}

/** Not for other members: a history shows who changed the entity, and from where. */
export function refuseUnlessMayReadHistory(caller: Caller, entity: object): void {
  if (mayReadPrivate(caller, entity)) return;
  const message = 'Only admins, auditors and the owner of the resource, if it has one, may read its history.';
  throw new Problem('role_missing', message);
}

/** Returns the owner of a new entity: the named one, or else the caller. Runs before any look-up of the owner. */
export function requireOwnOrAdmin(caller: Caller, named: string | undefined): string {
  const ownerId = named === undefined || named === '' ? caller.principalId : named;
  if (ownerId === caller.principalId || isAdmin(caller)) return ownerId;
  throw new Problem('owner_not_yours', 'Only admins may name an owner other than themselves; leave owner_id out.');
}

/** What it names may live in the operator's own directory, so an id may have any form that is safe to show. */
export function requireWellFormedId(field: 'owner_id' | 'ip_policy_id', id: string): void {
  if (/^[A-Za-z0-9_-]{1,128}$/.test(id)) return;
  throw malformed(`${field} must be 1 to 128 characters of A-Z, a-z, 0-9, _ and -.`);
}
