import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { CLAIMS_CONSTRAINT } from '../../event-log/index.js';
import type { Caller } from '../../kernel/caller.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Problem } from '../../kernel/problem.js';
import { type KeyPolicy, parseAcl, parseCidrs, parsePublicKey } from '../../rules/index.js';
import type { RequestContext } from '../http/request-context.js';
import { Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { type Expiring, parseTime } from '../resources/expiry/expiry.js';
import { Owners, ownerRefusals, requireOwnerId } from '../resources/owners.js';
import {
  type CreatedSshCredential,
  create,
  remove,
  restrictSources,
  type SourceRestriction,
  type SshCredential,
  type SshCredentialUpdate,
  setExpiry,
  update,
} from './ssh-credential.js';
import { USED_KEY_CONSTRAINT, UsedKeys } from './ssh-credentials.read-model.js';
import {
  type CreateSshCredentialBody,
  SSH_CREDENTIALS,
  type UpdateSshCredentialBody,
} from './ssh-credentials.resource.js';

export class CreateSshCredential extends CreateCommand<CreateSshCredentialBody> {}
export class UpdateSshCredential extends UpdateCommand<UpdateSshCredentialBody> {}
export class DeleteSshCredential extends DeleteCommand {}
export class SetSshCredentialExpiry extends UpdateCommand<Required<Expiring>> {}
export class RestrictSshCredentialSources extends UpdateCommand<SourceRestriction> {}

/** The operator's settings for keys: see config.ts. */
export abstract class SshCredentialPolicy {
  abstract readonly strict: boolean;
  abstract readonly keys: KeyPolicy;
}

@CommandHandler(CreateSshCredential)
class CreateSshCredentialHandler implements ICommandHandler<CreateSshCredential> {
  constructor(
    private readonly changes: Changes,
    private readonly keys: UsedKeys,
    private readonly owners: Owners,
    private readonly policy: SshCredentialPolicy,
  ) {}

  execute({ context, body }: CreateSshCredential) {
    const decide = async (_: string, { caller }: RequestContext) => {
      const credential = parseSshCredential(body, caller, this.policy);
      await Promise.all([
        this.owners.refuseUnusable(caller, credential.owner_id, this.policy.strict),
        this.refuseUsedKey(caller.accountId, credential.fingerprint),
      ]);
      return create(credential);
    };
    const refusals = {
      [USED_KEY_CONSTRAINT]: keyUsed,
      [CLAIMS_CONSTRAINT]: keyUsedElsewhere,
      ...ownerRefusals(body.owner_id || context.caller.principalId),
    };
    return this.changes.create(SSH_CREDENTIALS, context, decide, { refusals });
  }

  /**
   * Refuses in strict mode only. The unique index decides races; it omits credentials from before strict mode, which
   * this look-up finds.
   */
  private async refuseUsedKey(accountId: string, fingerprint: string): Promise<void> {
    if (this.policy.strict && (await this.keys.has(accountId, fingerprint))) throw keyUsed();
  }
}

@CommandHandler(UpdateSshCredential)
class UpdateSshCredentialHandler implements ICommandHandler<UpdateSshCredential> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateSshCredential) {
    // The decision parses the body, so that a used Idempotency-Key is refused before an invalid rule.
    const decide = (credential: SshCredential | undefined, { caller }: RequestContext) =>
      update(credential, caller, parseChanges(body));
    return this.changes.apply(SSH_CREDENTIALS, context, id, decide, { sent: body });
  }
}

@CommandHandler(DeleteSshCredential)
class DeleteSshCredentialHandler implements ICommandHandler<DeleteSshCredential> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id }: DeleteSshCredential) {
    return this.changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller }) => remove(credential, caller));
  }
}

@CommandHandler(SetSshCredentialExpiry)
class SetSshCredentialExpiryHandler implements ICommandHandler<SetSshCredentialExpiry> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: SetSshCredentialExpiry) {
    return this.changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller }) =>
      setExpiry(credential, caller, body),
    );
  }
}

@CommandHandler(RestrictSshCredentialSources)
class RestrictSshCredentialSourcesHandler implements ICommandHandler<RestrictSshCredentialSources> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: RestrictSshCredentialSources) {
    return this.changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller }) =>
      restrictSources(credential, caller, body),
    );
  }
}

/** The fields that a change gives. Throws Problem. */
const parseChanges = ({ description, metadata, acl }: UpdateSshCredentialBody): SshCredentialUpdate =>
  omitUndefined({ description, metadata, acl: acl && parseAcl(acl) });

/** Throws Problem. The owner comes first: a caller learns that it may not name another one before any fault of the key. */
function parseSshCredential(
  body: CreateSshCredentialBody,
  caller: Caller,
  policy: SshCredentialPolicy,
): CreatedSshCredential {
  const owner_id = requireOwnerId(caller, body.owner_id);
  const key = parsePublicKey(body.public_key, policy.keys);
  return {
    description: body.description ?? '',
    metadata: body.metadata ?? '',
    public_key: body.public_key ?? '',
    acl: parseAcl(body.acl ?? []),
    owner_id,
    key_type: key.type,
    key_bits: key.bits,
    key_blob: key.blob.toString('base64'),
    fingerprint: key.fingerprint,
    exclusive: policy.strict,
    ...(body.expires_at !== undefined && { expires_at: parseTime('expires_at', body.expires_at).toISOString() }),
    ...(body.source_cidrs !== undefined && { source_cidrs: parseCidrs(body.source_cidrs, 'source_cidrs') }),
  };
}

const keyUsed = (): Problem =>
  new Problem('public_key_already_used', 'This public key already has an SSH credential on this account.');

const keyUsedElsewhere = (): Problem =>
  new Problem('public_key_used_elsewhere', 'This public key is already in use on another account.');

export const SSH_CREDENTIAL_HANDLERS = [
  CreateSshCredentialHandler,
  UpdateSshCredentialHandler,
  DeleteSshCredentialHandler,
  SetSshCredentialExpiryHandler,
  RestrictSshCredentialSourcesHandler,
];
