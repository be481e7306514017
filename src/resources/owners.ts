import type { Pool } from 'pg';
import type { Role } from '../caller.js';
import { coalescedByRef, type Ref, type RefRow, WANTED } from '../database/coalesce.js';
import { ConstraintViolated } from '../log/append/append-failures.js';
import { Problem } from '../problem.js';
import { OWNER_DELETED_CONSTRAINT } from './resource.js';

interface OwnerRow extends RefRow {
  readonly active: boolean;
  readonly role: Role;
}

const OWNERS = {
  name: 'owners_by_ids',
  text: `select t.account_id, t.id, t.active, t.role from principals t ${WANTED}`,
};

/** The users and bots that may own a resource. */
export class Owners {
  /** Undefined if the account never had this user or bot. A deleted one is found, and is inactive. */
  readonly find: (ref: Ref) => Promise<{ readonly active: boolean; readonly role: Role } | undefined>;

  constructor(pool: Pool) {
    this.find = coalescedByRef(pool, OWNERS, ({ active, role }: OwnerRow) => ({ active, role }));
  }
}

export const inactiveOwner = (ownerId: string): Problem =>
  new Problem('owner_inactive', `The owner '${ownerId.slice(0, 128)}' is not active.`);

export const unknownOwner = (ownerId: string): Problem =>
  new Problem('owner_inactive', `The owner '${ownerId.slice(0, 128)}' is not known on this account.`);

/** The owner was deleted between look-up and append. The table decides this race, so it holds across instances. */
export const explainDeletedOwner = (error: unknown, ownerId: string): unknown =>
  error instanceof ConstraintViolated && error.constraint === OWNER_DELETED_CONSTRAINT ? inactiveOwner(ownerId) : error;
