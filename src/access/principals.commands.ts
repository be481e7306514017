import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { isEmail } from 'class-validator';
import type { Ref } from '../database/coalesce.js';
import type { EventMetadata } from '../event-log/event.js';
import { StreamConflict, ValueTaken } from '../event-log/event-log.js';
import type { Entity } from '../event-log/read-model.js';
import { type Changed, type Part, partOf, Streams } from '../event-log/streams.js';
import type { RequestContext } from '../http/request-context.js';
import type { OwnedThings } from '../owned-things.js';
import { Problem } from '../problem.js';
import { Accounts, Bots, Users } from './access.queries.js';
import {
  accountsReadModel,
  BOT_NAME_CONSTRAINT,
  principalsReadModel,
  USER_EMAIL_CONSTRAINT,
} from './access.read-models.js';
import { setAdmin } from './account.js';
import {
  createBot,
  createUser,
  evolve,
  isActiveAdmin,
  type Principal,
  type PrincipalEvent,
  refuseUnlessAdmin,
  remove,
  updateBot,
  updateUser,
} from './principal.js';

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
  const constraint = error instanceof ValueTaken ? error.constraint : undefined;
  if (constraint === USER_EMAIL_CONSTRAINT) throw new Problem('conflict', 'A user with this email exists already.');
  if (constraint === BOT_NAME_CONSTRAINT) throw new Problem('conflict', 'A bot with this name exists already.');
  throw error;
}

export class CreateUser {
  constructor(
    readonly context: RequestContext,
    readonly input: { readonly email?: string; readonly role?: string },
  ) {}
}

@CommandHandler(CreateUser)
export class CreateUserHandler implements ICommandHandler<CreateUser> {
  constructor(private readonly principals: Principals) {}

  async execute({ context, input }: CreateUser): Promise<Changed<Principal>> {
    const user = { email: parseEmail(input.email), role: parseRole(input.role) ?? 'member' };
    return this.principals.create(context, 'usr', createUser(user));
  }
}

export class UpdateUser {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: { readonly role?: string; readonly active?: boolean },
    /** Refuses what cannot be changed; asked with the user as it is. */
    readonly check: (user: Entity<Principal> | undefined) => void,
  ) {}
}

@CommandHandler(UpdateUser)
export class UpdateUserHandler implements ICommandHandler<UpdateUser> {
  constructor(
    private readonly principals: Principals,
    private readonly users: Users,
  ) {}

  async execute({ context, id, input, check }: UpdateUser): Promise<Changed<Principal>> {
    const role = parseRole(input.role);
    const { active } = input;
    const change = updateUser({ ...(role !== undefined && { role }), ...(active !== undefined && { active }) });
    return this.principals.change(context, id, checked(this.users, context, id, check), change);
  }
}

export class CreateBot {
  constructor(
    readonly context: RequestContext,
    readonly input: { readonly name?: string; readonly active?: boolean },
  ) {}
}

@CommandHandler(CreateBot)
export class CreateBotHandler implements ICommandHandler<CreateBot> {
  constructor(private readonly principals: Principals) {}

  async execute({ context, input }: CreateBot): Promise<Changed<Principal>> {
    const bot = { name: parseName(input.name ?? ''), active: input.active ?? true };
    return this.principals.create(context, 'bot', createBot(bot));
  }
}

export class UpdateBot {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: { readonly name?: string; readonly active?: boolean },
    /** Refuses what cannot be changed; asked with the bot as it is. */
    readonly check: (bot: Entity<Principal> | undefined) => void,
  ) {}
}

@CommandHandler(UpdateBot)
export class UpdateBotHandler implements ICommandHandler<UpdateBot> {
  constructor(
    private readonly principals: Principals,
    private readonly bots: Bots,
  ) {}

  async execute({ context, id, input, check }: UpdateBot): Promise<Changed<Principal>> {
    const { name, active } = input;
    const change = updateBot({
      ...(name !== undefined && { name: parseName(name) }),
      ...(active !== undefined && { active }),
    });
    return this.principals.change(context, id, checked(this.bots, context, id, check), change);
  }
}

export class DeletePrincipal {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly kind: Principal['kind'],
  ) {}
}

@CommandHandler(DeletePrincipal)
export class DeletePrincipalHandler implements ICommandHandler<DeletePrincipal> {
  constructor(
    private readonly principals: Principals,
    private readonly users: Users,
    private readonly bots: Bots,
  ) {}

  async execute({ context, id, kind }: DeletePrincipal): Promise<Changed<Principal>> {
    const queries = kind === 'user' ? this.users : this.bots;
    return this.principals.change(
      context,
      id,
      checked(queries, context, id, () => undefined),
      remove,
    );
  }
}

function checked(
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

function parseEmail(email: string | undefined): string {
  // ASCII only, so that upper and lower case mean the same here and in every database.
  if (email !== undefined && isEmail(email, { allow_utf8_local_part: false })) return email;
  throw new Problem('request_malformed', 'email must be an email address of ASCII characters.');
}

function parseRole(role: string | undefined): 'admin' | 'member' | undefined {
  if (role === undefined || role === '') return undefined;
  if (role === 'admin' || role === 'member') return role;
  throw new Problem('request_malformed', `role must be admin or member, not '${role.slice(0, 64)}'.`);
}

function parseName(name: string): string {
  if (name.trim() !== '') return name;
  throw new Problem('request_malformed', 'name is missing; give the bot a name, 1 to 255 bytes.');
}
