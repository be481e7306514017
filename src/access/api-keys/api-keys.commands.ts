import { randomBytes } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Caller, isAdmin } from '../../caller.js';
import type { RequestContext } from '../../http/request-context.js';
import type { Entity } from '../../log/read-model.js';
import { Problem } from '../../problem.js';
import { type Changed, Streams } from '../../resources/changes.js';
import {
  explainDeletedOwner,
  inactiveOwner,
  Owners,
  refuseForeignOwner,
  unknownOwner,
} from '../../resources/owners.js';
import { ApiKeys } from '../access.queries.js';
import { apiKeysReadModel } from '../access.read-models.js';
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
    private readonly owners: Owners,
  ) {}

  async execute({ context, input }: CreateApiKey): Promise<CreatedApiKey> {
    const ownerId = await this.ownerFrom(context.caller, input.ownerId);
    const at = this.streams.ids.now();
    const id = this.streams.ids.next('ak', at);
    const token = tokenOf(id, randomBytes(TOKEN_SECRET_BYTES));
    const { description = '', metadata = '' } = input;
    const key = { ownerId, description, metadata, tokenHash: hashToken(token) };
    const changed = await this.streams
      .change({
        model: apiKeysReadModel,
        accountId: context.caller.accountId,
        streamId: id,
        load: () => Promise.resolve(undefined),
        decide: (entity) => create(key)(entity?.state),
        ...context.change,
        occurredAt: at,
      })
      .catch((error) => {
        throw explainDeletedOwner(error, ownerId);
      });
    return { ...changed, token };
  }

  /** A key acts with its owner's role, so unlike an SSH credential's its owner must be known here, and active. */
  private async ownerFrom(caller: Caller, named: string | undefined): Promise<string> {
    const ownerId = named === undefined || named === '' ? caller.principalId : named;
    refuseForeignOwner(caller, ownerId);
    // An API key has found its owner on the way in, and has its role.
    if (ownerId === caller.principalId && caller.apiKeyId !== undefined) return ownerId;
    const owner = await this.owners.find({ accountId: caller.accountId, id: ownerId });
    if (owner === undefined) throw unknownOwner(ownerId);
    if (!owner.active) throw inactiveOwner(ownerId);
    // Signed in with a role the issuer has lowered: a key would bring the stored one back.
    if (owner.role === 'admin' && !isAdmin(caller)) {
      throw new Problem('role_missing', 'Your role is lower now than the one this key would have; ask an admin.');
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
