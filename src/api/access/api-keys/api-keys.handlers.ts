import { randomBytes } from 'node:crypto';
import { type Caller, isAdmin } from '../../../kernel/caller.js';
import { omitUndefined } from '../../../kernel/omit-undefined.js';
import { Problem } from '../../../kernel/problem.js';
import type { RequestContext } from '../../http/request-context.js';
import { requireOwnOrAdmin } from '../../resources/access-rules.js';
import { Changed, Changes } from '../../resources/changes.js';
import { handlerOf } from '../../resources/handler-of.js';
import { explainDeletedOwner, Owners } from '../../resources/owners.js';
import { type ApiKey, create, hashToken, remove, setExpiry, TOKEN_SECRET_BYTES, tokenOf, update } from './api-key.js';
import { API_KEYS, CreateApiKey, DeleteApiKey, SetApiKeyExpiry, UpdateApiKey } from './api-keys.resource.js';

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

/** A key has its owner's role, so its owner must exist and be active, unlike the owner of an SSH credential. */
async function ownerOf(caller: Caller, named: string | undefined, owners: Owners): Promise<string> {
  const id = requireOwnOrAdmin(caller, named);
  // Authentication by an API key has found this owner, and its role.
  if (id === caller.principalId && caller.apiKeyId !== undefined) return id;
  const owner = await owners.requireActive({ accountId: caller.accountId, id });
  // The issuer has changed the role of this caller. A key would restore the stored role, which sees or does more.
  if (owner.role !== caller.role && !isAdmin(caller)) {
    throw new Problem('role_missing', 'This key would have a higher role than you have now; ask an admin.');
  }
  return id;
}

export const API_KEY_HANDLERS = [
  handlerOf(CreateApiKey, [Changes, Owners], async ({ context, body }, changes, owners) => {
    const secret = randomBytes(TOKEN_SECRET_BYTES);
    const { description = '', metadata = '' } = body;
    const decide = async (id: string, { caller }: RequestContext) => {
      const owner_id = await ownerOf(caller, body.owner_id, owners);
      return create({ description, metadata, owner_id, token_hash: hashToken(tokenOf(id, secret)) })(undefined);
    };
    const changed = await changes.create(API_KEYS, context, decide).catch((error) => {
      throw explainDeletedOwner(error, body.owner_id || context.caller.principalId);
    });
    return new CreatedApiKey(changed, secret);
  }),

  handlerOf(UpdateApiKey, [Changes], ({ context, id, body }, changes) => {
    const { description, metadata } = body;
    const decide = (key: ApiKey | undefined, { caller: by }: RequestContext) =>
      update({ by, ...omitUndefined({ description, metadata }) })(key);
    return changes.apply(API_KEYS, context, id, decide, { sent: body });
  }),

  handlerOf(DeleteApiKey, [Changes], ({ context, id }, changes) =>
    changes.apply(API_KEYS, context, id, (key, { caller: by }) => remove({ by })(key)),
  ),

  handlerOf(SetApiKeyExpiry, [Changes], ({ context, id, body }, changes) =>
    changes.apply(API_KEYS, context, id, (key, { caller: by }) => setExpiry({ by, ...body })(key)),
  ),
];
