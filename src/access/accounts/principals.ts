import type { Ref } from '../../database/coalesce.js';
import type { RequestContext } from '../../http/request-context.js';
import { ConstraintViolated, StreamConflict } from '../../log/append/event-log.js';
import type { EventMetadata } from '../../log/event.js';
import type { Entity } from '../../log/read-model.js';
import { Problem } from '../../problem.js';
import { type Changed, type Part, partOf, Streams } from '../../resources/changes.js';
import type { OwnedThings } from '../../resources/owned-things.js';
import { Accounts, Bots, Users } from '../access.queries.js';
import {
  accountsReadModel,
  BOT_NAME_CONSTRAINT,
  principalsReadModel,
  USER_EMAIL_CONSTRAINT,
} from '../access.read-models.js';
import { setAdmin } from './account.js';
import { evolve, isActiveAdmin, type Principal, type PrincipalEvent, refuseUnlessAdmin } from './principal.js';

type Decision = (state: Principal | undefined) => readonly PrincipalEvent[];

/** What the handlers of users and bots share: one append for a principal and for what must change with it. */
export class Principals {
  constructor(
    private readonly streams: Streams,
    private readonly accounts: Accounts,
    private readonly owned: readonly OwnedThings[],
  ) {}

  create(context: RequestContext, prefix: 'usr' | 'bot', decide: Decision): Promise<Changed<Principal>> {
    const id = this.streams.ids.next(prefix);
    return this.change(context, id, () => Promise.resolve(undefined), decide);
  }

  async change(
    { caller, change }: RequestContext,
    id: string,
    load: () => Promise<Entity<Principal> | undefined>,
    decide: Decision,
  ): Promise<Changed<Principal>> {
    refuseUnlessAdmin(caller);
    const { accountId } = caller;
    const occurredAt = this.streams.ids.now();
    const changed = await this.streams
      .change({
        model: principalsReadModel,
        accountId,
        streamId: id,
        load,
        decide: (entity) => decide(entity?.state),
        also: (entity, events) => this.together({ accountId, id }, entity?.state, events, occurredAt),
        ...change,
        occurredAt,
      })
      .catch(explainTaken);
    if (changed.entity?.state.deleted === true) await this.removeTheRest({ accountId, id }, change.metadata);
    return changed;
  }

  /**
   * Whoever owns more than one append takes away, or was given something while it was deleted. Nothing new can come: the
   * tables refuse it, and what is left meanwhile is refused at every use.
   */
  private async removeTheRest(owner: Ref, { idempotency_key: _, ...metadata }: EventMetadata): Promise<void> {
    for (;;) {
      const occurredAt = this.streams.ids.now();
      const parts = await this.removals(owner, occurredAt);
      if (parts.length === 0) return;
      try {
        await this.streams.appendParts(owner.accountId, parts, { metadata, occurredAt });
      } catch (error) {
        if (!(error instanceof StreamConflict)) throw error;
      }
    }
  }

  private async removals(owner: Ref, occurredAt: Date): Promise<Part[]> {
    const removals = await Promise.all(this.owned.map((things) => things.removalOf(owner, occurredAt)));
    return removals.flat();
  }

  /** The account's list of admins, when this changes it, and the end of what a deleted principal owned. */
  private async together(
    ref: Ref,
    before: Principal | undefined,
    events: readonly PrincipalEvent[],
    occurredAt: Date,
  ): Promise<readonly Part[]> {
    const after = events.reduce(evolve, before);
    const removals = after?.deleted === true ? await this.removals(ref, occurredAt) : [];
    if (isActiveAdmin(before) === isActiveAdmin(after)) return removals;
    return [...(await this.adminsPart(ref, isActiveAdmin(after), occurredAt)), ...removals];
  }

  private async adminsPart({ accountId, id }: Ref, isAdmin: boolean, occurredAt: Date): Promise<Part[]> {
    const account = await this.accounts.find({ accountId, id: accountId });
    const events = setAdmin({ id, isAdmin })(account?.state);
    return events.length === 0
      ? []
      : [partOf(accountsReadModel, { accountId, id: accountId }, account, events, occurredAt)];
  }
}

function explainTaken(error: unknown): never {
  const constraint = error instanceof ConstraintViolated ? error.constraint : undefined;
  if (constraint === USER_EMAIL_CONSTRAINT) throw new Problem('conflict', 'A user with this email exists already.');
  if (constraint === BOT_NAME_CONSTRAINT) throw new Problem('conflict', 'A bot with this name exists already.');
  throw error;
}

/** Loads a principal and lets `check` refuse what cannot be changed of it. */
export function checked(
  queries: Users | Bots,
  { caller }: RequestContext,
  id: string,
  check: (entity: Entity<Principal> | undefined) => void,
) {
  return async (): Promise<Entity<Principal> | undefined> => {
    const entity = await queries.find({ accountId: caller.accountId, id });
    check(entity);
    return entity;
  };
}
