import type { Pool } from 'pg';
import { type Caller, isAdmin, type Role } from '../caller.js';
import { coalescedByRef, type Ref, type RefRow, WANTED } from '../database/coalesce.js';
import { ConstraintViolated } from '../log/append/event-log.js';
import { Problem } from '../problem.js';
import { OWNER_DELETED_CONSTRAINT } from './owned-things.js';

interface OwnerRow extends RefRow {
  readonly active: boolean;
  readonly role: Role;
}

const OWNERS = {
  name: 'owners_by_ids',
  text: `select t.account_id, t.id, t.active, t.role from principals t ${WANTED}`,
};

/** Whoever may own things: what creating one needs to know of them. */
export class Owners {
  /** Undefined when the account has no such user or bot. Deleted ones are known, and inactive. */
  readonly find: (ref: Ref) => Promise<{ readonly active: boolean; readonly role: Role } | undefined>;

  constructor(pool: Pool) {
    this.find = coalescedByRef(pool, OWNERS, ({ active, role }: OwnerRow) => ({ active, role }));
  }
}

/** Only admins may name an owner other than themselves. Asked before anything is looked up about that owner. */
export function refuseForeignOwner(caller: Caller, ownerId: string): void {
  if (ownerId === caller.principalId || isAdmin(caller)) return;
  throw new Problem('owner_not_yours', 'Only admins may name an owner other than themselves; leave owner_id out.');
}

export const inactiveOwner = (ownerId: string): Problem =>
  new Problem('owner_inactive', `The owner '${ownerId.slice(0, 128)}' is not active.`);

export const unknownOwner = (ownerId: string): Problem =>
  new Problem('owner_inactive', `The owner '${ownerId.slice(0, 128)}' is not known on this account.`);

/** The owner was deleted between the look-up and the append: the table refused it, which no other copy can outrun. */
export function explainDeletedOwner(error: unknown, ownerId: string): unknown {
  return error instanceof ConstraintViolated && error.constraint === OWNER_DELETED_CONSTRAINT
    ? inactiveOwner(ownerId)
    : error;
}
