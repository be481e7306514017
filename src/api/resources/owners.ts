import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import { coalescedRows, POOL, type Ref, wantedRows } from '../../database/index.js';
import type { Caller, Role } from '../../kernel/caller.js';
import { Problem, quoted } from '../../kernel/problem.js';
import { requireOwnOrAdmin, requireWellFormedId } from './access-rules.js';
import type { Refusals } from './changes.js';
import { OWNER_DELETED_CONSTRAINT } from './resource-descriptor.js';

interface Owner {
  readonly active: boolean;
  readonly role: Role;
}

const OWNERS = {
  name: 'owners_by_ids',
  text: `select t.id, t.active, t.role from ${wantedRows('principals')} t`,
};

/** The users and bots of an account as owners. */
@Injectable()
export class Owners {
  /** Undefined if the account never had this user or bot. A deleted one is found, and is inactive. */
  private readonly find: (ref: Ref) => Promise<Owner | undefined>;

  constructor(@Inject(POOL) pool: Pool) {
    this.find = coalescedRows(pool, OWNERS, (row: Owner & { readonly id: string }) => row);
  }

  /**
   * Throws Problem for an inactive owner, and for an unknown one where owners must be known. Otherwise an owner that the
   * account does not know is stored as given: it may live in the operator's own directory.
   */
  async refuseUnusable(caller: Caller, ownerId: string, mustBeKnown: boolean): Promise<void> {
    if (ownerId === caller.principalId) return;
    const ref = { accountId: caller.accountId, id: ownerId };
    if (mustBeKnown) await this.requireActive(ref);
    else if ((await this.find(ref))?.active === false) throw inactiveOwner(ownerId);
  }

  /** Throws Problem for an inactive or unknown owner. */
  async requireActive(ref: Ref): Promise<Owner> {
    const owner = await this.find(ref);
    if (owner?.active === true) return owner;
    if (owner !== undefined) throw inactiveOwner(ref.id);
    throw new Problem('owner_inactive', `The owner ${quoted(ref.id)} is not known on this account.`);
  }
}

/** The owner of a new entity: the caller unless an admin names another one, perhaps one that the account does not know. */
export function requireOwnerId(caller: Caller, named: string | undefined): string {
  const ownerId = requireOwnOrAdmin(caller, named);
  requireWellFormedId('owner_id', ownerId);
  return ownerId;
}

const inactiveOwner = (ownerId: string): Problem =>
  new Problem('owner_inactive', `The owner ${quoted(ownerId)} is not active.`);

/** The owner was deleted between look-up and append. The table decides this race, so it holds across instances. */
export const ownerRefusals = (ownerId: string): Refusals => ({
  [OWNER_DELETED_CONSTRAINT]: () => inactiveOwner(ownerId),
});
