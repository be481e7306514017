import { Injectable } from '@nestjs/common';
import { PostgresFailure, type Ref } from '../../../database/index.js';
import { type EntityRow, fold, type StreamAppend } from '../../../event-log/index.js';
import { Problem } from '../../../kernel/problem.js';
import type { RequestContext } from '../../http/request-context.js';
import { refuseUnlessMayManagePrincipals } from '../../resources/access-rules.js';
import { type Changed, type ChangeOptions, Changes, type Refusals } from '../../resources/changes.js';
import { EntityQueries } from '../../resources/entity-queries.js';
import { OwnedEntities } from '../../resources/owned-entities.js';
import type { ResourceDescriptor } from '../../resources/resource-descriptor.js';
import { setAdmin } from './account.js';
import { accountsReadModel } from './accounts.read-model.js';
import { PendingRemovals } from './pending-removals.js';
import { isActiveAdmin, type Principal, type PrincipalEvent } from './principal.js';
import { BOT_NAME_CONSTRAINT, USER_EMAIL_CONSTRAINT } from './principals.read-model.js';

type PrincipalDescriptor = ResourceDescriptor<Principal, PrincipalEvent>;

/** How long a request removes what a deleted principal owns. The sweeper removes the rest. */
const MAX_REMOVAL_MS = 3_000;

const ACCOUNTS = { model: accountsReadModel, idPrefix: 'ac' } as const;

/**
 * The runner of changes for users and bots: one append for a principal and all streams that must change with it. A
 * decision parses its body, so that a caller without the right is refused before any fault of the body.
 */
@Injectable()
export class Principals {
  constructor(
    private readonly changes: Changes,
    private readonly entities: EntityQueries,
    private readonly owned: OwnedEntities,
    private readonly pending: PendingRemovals,
  ) {}

  create(
    resource: PrincipalDescriptor,
    context: RequestContext,
    decide: () => readonly PrincipalEvent[],
  ): Promise<Changed<Principal>> {
    const decideAsAdmin = (_: string, { caller }: RequestContext) => {
      refuseUnlessMayManagePrincipals(caller);
      return decide();
    };
    return this.changes.create(resource, context, decideAsAdmin, this.optionsOf(context));
  }

  async apply(
    resource: PrincipalDescriptor,
    context: RequestContext,
    id: string,
    decide: (principal: Principal | undefined) => readonly PrincipalEvent[],
    sent?: object,
  ): Promise<Changed<Principal>> {
    const decideAsAdmin = (principal: Principal | undefined, { caller }: RequestContext) => {
      refuseUnlessMayManagePrincipals(caller);
      return decide(principal);
    };
    const options = { ...this.optionsOf(context), ...(sent !== undefined && { sent }) };
    const changed = await this.changes.apply(resource, context, id, decideAsAdmin, options);
    // A repetition does so too: the first request may have been interrupted before it had removed everything.
    if (changed.entity?.deleted === true) {
      const ref = { accountId: context.accountId, id };
      await this.pending.finish(ref, AbortSignal.timeout(MAX_REMOVAL_MS)).catch(explainUnfinished);
    }
    return changed;
  }

  /** The change of the account's list of admins, if any, and the removals of a deleted principal's entities. */
  private optionsOf({ accountId }: RequestContext): ChangeOptions {
    return {
      refusals: REFUSALS,
      alongside: async ({ id, before, after }, at) => {
        const ref = { accountId, id };
        const removals = principalOf(after)?.deleted === true ? await this.owned.removalsOf(ref) : [];
        const isAdmin = isActiveAdmin(principalOf(after));
        return isActiveAdmin(principalOf(before)) === isAdmin
          ? removals
          : [...(await this.changeOfAdmins(ref, isAdmin, at)), ...removals];
      },
    };
  }

  private async changeOfAdmins({ accountId, id }: Ref, isAdmin: boolean, at: Date): Promise<StreamAppend[]> {
    const ref = { accountId, id: accountId };
    const before = await this.entities.find(ACCOUNTS, ref);
    const events = setAdmin(before, id, isAdmin);
    const after = fold(accountsReadModel, ref, before, events, at);
    return events.length === 0 ? [] : [{ model: accountsReadModel, id: accountId, before, events, after }];
  }
}

/** The streams of users and bots hold principals. */
const principalOf = (entity: EntityRow | undefined) => entity as (EntityRow & Principal) | undefined;

const REFUSALS: Refusals = {
  [USER_EMAIL_CONSTRAINT]: () => new Problem('conflict', 'A user with this email exists already.'),
  [BOT_NAME_CONSTRAINT]: () => new Problem('conflict', 'A bot with this name exists already.'),
};

/** The principal is deleted already. A client that reads only "try again" would think that it is not. */
function explainUnfinished(error: unknown): never {
  if (!(error instanceof Problem) && !PostgresFailure.of(error).isConnectionLoss) throw error;
  const message =
    'The deletion is written, but the database went away before all API keys and SSH credentials of the owner were ' +
    'removed; the last removals may have been written. The remaining ones are refused, and are removed without a new request.';
  throw new Problem('overloaded', message);
}
