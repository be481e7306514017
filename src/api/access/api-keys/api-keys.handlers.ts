import { randomBytes } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { type Caller, isAdmin } from '../../../kernel/caller.js';
import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { Problem } from '../../../kernel/problem.js';
import type { RequestContext } from '../../http/request-context.js';
import { requireOwnOrAdmin } from '../../resources/access-rules.js';
import { Changed, Changes } from '../../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../../resources/commands.js';
import type { Expiring } from '../../resources/expiry/expiry.js';
import { Owners, ownerRefusals } from '../../resources/owners.js';
import { type ApiKey, create, hashToken, remove, setExpiry, TOKEN_SECRET_BYTES, tokenOf, update } from './api-key.js';
import { API_KEYS, type CreateApiKeyBody, type UpdateApiKeyBody } from './api-keys.resource.js';

export class CreateApiKey extends CreateCommand<CreateApiKeyBody> {}
export class UpdateApiKey extends UpdateCommand<UpdateApiKeyBody> {}
export class DeleteApiKey extends DeleteCommand {}
export class SetApiKeyExpiry extends UpdateCommand<Required<Expiring>> {}

@CommandHandler(CreateApiKey)
class CreateApiKeyHandler implements ICommandHandler<CreateApiKey> {
  constructor(
    private readonly changes: Changes,
    private readonly owners: Owners,
  ) {}

  async execute({ context, body }: CreateApiKey) {
    const { description = '', metadata = '' } = body;
    const secret = randomBytes(TOKEN_SECRET_BYTES);
    const decide = async (id: string, { caller }: RequestContext) => {
      const owner_id = await this.ownerOf(caller, body.owner_id);
      return create({ description, metadata, owner_id, token_hash: hashToken(tokenOf(id, secret)) });
    };
    const refusals = ownerRefusals(body.owner_id || context.caller.principalId);
    const changed = await this.changes.create(API_KEYS, context, decide, { refusals });
    return new CreatedApiKey(changed, secret);
  }

  /** A key has its owner's role, so its owner must exist and be active, unlike the owner of an SSH credential. */
  private async ownerOf(caller: Caller, named: string | undefined): Promise<string> {
    const id = requireOwnOrAdmin(caller, named);
    // Authentication by an API key has found this owner, and its role.
    if (id === caller.principalId && caller.apiKeyId !== undefined) return id;
    const owner = await this.owners.requireActive({ accountId: caller.accountId, id });
    // The issuer has changed the role of this caller. A key would restore the stored role, which sees or does more.
    if (owner.role !== caller.role && !isAdmin(caller)) {
      throw new Problem('role_missing', 'This key would have a higher role than you have now; ask an admin.');
    }
    return id;
  }
}

@CommandHandler(UpdateApiKey)
class UpdateApiKeyHandler implements ICommandHandler<UpdateApiKey> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateApiKey) {
    const { description, metadata } = body;
    const fields = omitUndefined({ description, metadata });
    const decide = (key: ApiKey | undefined, { caller }: RequestContext) => update(key, caller, fields);
    return this.changes.apply(API_KEYS, context, id, decide, { sent: body });
  }
}

@CommandHandler(DeleteApiKey)
class DeleteApiKeyHandler implements ICommandHandler<DeleteApiKey> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id }: DeleteApiKey) {
    return this.changes.apply(API_KEYS, context, id, (key, { caller }) => remove(key, caller));
  }
}

@CommandHandler(SetApiKeyExpiry)
class SetApiKeyExpiryHandler implements ICommandHandler<SetApiKeyExpiry> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: SetApiKeyExpiry) {
    return this.changes.apply(API_KEYS, context, id, (key, { caller }, at) =>
      setExpiry(key, caller, body.expires_at, at),
    );
  }
}

/** The only answer with the token. */
class CreatedApiKey extends Changed<ApiKey> {
  constructor(
    { entity, position, isDuplicate }: Changed<ApiKey>,
    private readonly secret: Buffer,
  ) {
    super(API_KEYS, entity, position, isDuplicate);
  }

  /** The answer to a repeated request has no token: the first answer had it, and the database holds only its hash. */
  override render(baseUrl: string): object {
    const token = this.isDuplicate || this.entity === undefined ? null : tokenOf(this.entity.id, this.secret);
    return { ...super.render(baseUrl), token };
  }
}

export const API_KEY_HANDLERS = [CreateApiKeyHandler, UpdateApiKeyHandler, DeleteApiKeyHandler, SetApiKeyExpiryHandler];
