import { randomBytes } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Caller, isAdmin } from '../caller.js';
import type { Entity } from '../event-log/read-model.js';
import { type Changed, Streams } from '../event-log/streams.js';
import type { RequestContext } from '../http/request-context.js';
import { Problem } from '../problem.js';
import { ApiKeys } from './access.queries.js';
import { apiKeysReadModel } from './access.read-models.js';
import { type ApiKey, create, hashToken, remove, TOKEN_SECRET_BYTES, tokenOf, update } from './api-key.js';

export class CreateApiKey {
  constructor(
    readonly context: RequestContext,
    readonly input: { readonly description?: string; readonly metadata?: string; readonly ownerId?: string },
  ) {}
}

/** The one answer with the token in it. */
export interface CreatedApiKey extends Changed<ApiKey> {
  readonly token: string;
}

@CommandHandler(CreateApiKey)
export class CreateApiKeyHandler implements ICommandHandler<CreateApiKey> {
  constructor(
    private readonly streams: Streams,
    private readonly keys: ApiKeys,
  ) {}

  async execute({ context, input }: CreateApiKey): Promise<CreatedApiKey> {
    const ownerId = await this.ownerFrom(context.caller, input.ownerId);
    const at = this.streams.ids.now();
    const id = this.streams.ids.next('ak', at);
    const token = tokenOf(id, randomBytes(TOKEN_SECRET_BYTES));
    const { description = '', metadata = '' } = input;
    const changed = await this.streams.change({
      model: apiKeysReadModel,
      accountId: context.caller.accountId,
      streamId: id,
      load: () => Promise.resolve(undefined),
      decide: (entity) => create({ ownerId, description, metadata, tokenHash: hashToken(token) })(entity?.state),
      ...context.change,
      occurredAt: at,
    });
    return { ...changed, token };
  }

  /** A key acts with its owner's role, so unlike an SSH credential's its owner must be known here, and active. */
  private async ownerFrom(caller: Caller, ownerId: string | undefined): Promise<string> {
    if (ownerId === undefined || ownerId === '' || ownerId === caller.principalId) return caller.principalId;
    if (!isAdmin(caller)) {
      throw new Problem('owner_not_yours', 'Only admins may name an owner other than themselves; leave owner_id out.');
    }
    const isActive = await this.keys.isOwnerActive({ accountId: caller.accountId, id: ownerId });
    if (isActive !== true) {
      const state = isActive === undefined ? 'not known on this account' : 'not active';
      throw new Problem('owner_inactive', `The owner '${ownerId.slice(0, 128)}' is ${state}.`);
    }
    return ownerId;
  }
}

export class UpdateApiKey {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: { readonly description?: string; readonly metadata?: string },
    /** Refuses what cannot be changed; asked with the key as it is. */
    readonly check: (key: Entity<ApiKey> | undefined) => void,
  ) {}
}

@CommandHandler(UpdateApiKey)
export class UpdateApiKeyHandler implements ICommandHandler<UpdateApiKey> {
  constructor(
    private readonly streams: Streams,
    private readonly keys: ApiKeys,
  ) {}

  async execute({ context, id, input, check }: UpdateApiKey): Promise<Changed<ApiKey>> {
    const { accountId } = context.caller;
    return this.streams.change({
      model: apiKeysReadModel,
      accountId,
      streamId: id,
      load: () => this.keys.find({ accountId, id }),
      decide: (entity) => {
        const events = update({ by: context.caller, ...input })(entity?.state);
        check(entity);
        return events;
      },
      ...context.change,
      occurredAt: this.streams.ids.now(),
    });
  }
}

export class DeleteApiKey {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
  ) {}
}

@CommandHandler(DeleteApiKey)
export class DeleteApiKeyHandler implements ICommandHandler<DeleteApiKey> {
  constructor(
    private readonly streams: Streams,
    private readonly keys: ApiKeys,
  ) {}

  async execute({ context, id }: DeleteApiKey): Promise<Changed<ApiKey>> {
    const { accountId } = context.caller;
    return this.streams.change({
      model: apiKeysReadModel,
      accountId,
      streamId: id,
      load: () => this.keys.find({ accountId, id }),
      decide: (entity) => remove({ by: context.caller })(entity?.state),
      ...context.change,
      occurredAt: this.streams.ids.now(),
    });
  }
}
