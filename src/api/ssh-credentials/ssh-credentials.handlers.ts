import { Injectable } from '@nestjs/common';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { CLAIMS_CONSTRAINT } from '../../event-log/index.js';
import type { Caller } from '../../kernel/caller.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Problem } from '../../kernel/problem.js';
import { type KeyPolicy, parseAcl, parseCidrs, parsePublicKey } from '../../rules/index.js';
import type { RequestContext } from '../http/request-context.js';
import { Changes, type Refusals } from '../resources/changes.js';
import { CreateCommand, DeleteCommand, UpdateCommand } from '../resources/commands.js';
import { type Expiring, parseTime, refusePast } from '../resources/expiry/expiry.js';
import { Owners, ownerRefusals, requireOwnerId } from '../resources/owners.js';
import {
  type CreatedSshCredential,
  create,
  type KeyOfCredential,
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

/** What a new credential needs: an owner that is active, and a key that nobody has. */
@Injectable()
export class NewCredentials {
  constructor(
    private readonly keys: UsedKeys,
    private readonly owners: Owners,
    private readonly policy: SshCredentialPolicy,
  ) {}

  readonly refusals: Refusals = { [USED_KEY_CONSTRAINT]: keyUsed, [CLAIMS_CONSTRAINT]: keyUsedElsewhere };

  async refuseUnusable(caller: Caller, { owner_id, fingerprint }: CreatedSshCredential): Promise<void> {
    await Promise.all([
      this.owners.refuseUnusable(caller, owner_id, this.policy.strict),
      this.refuseUsedKey(caller.accountId, fingerprint),
    ]);
  }

  /**
   * Refuses in strict mode only. The unique index decides races; it omits credentials from before strict mode, which
   * this look-up finds.
   */
  private async refuseUsedKey(accountId: string, fingerprint: string): Promise<void> {
    if (this.policy.strict && (await this.keys.has(accountId, fingerprint))) throw keyUsed();
  }
}

@CommandHandler(CreateSshCredential)
class CreateSshCredentialHandler implements ICommandHandler<CreateSshCredential> {
  constructor(
    private readonly changes: Changes,
    private readonly added: NewCredentials,
    private readonly policy: SshCredentialPolicy,
  ) {}

  execute({ context, body }: CreateSshCredential) {
    const decide = async (_: string, { caller }: RequestContext, at: Date) => {
      const credential = parseSshCredential(body, caller, this.policy, at);
      await this.added.refuseUnusable(caller, credential);
      return create(credential);
    };
    const refusals = { ...this.added.refusals, ...ownerRefusals(body.owner_id || context.caller.principalId) };
    return this.changes.create(SSH_CREDENTIALS, context, decide, { refusals });
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
    return this.changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller }, at) =>
      setExpiry(credential, caller, body.expires_at, at),
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
  at: Date,
): CreatedSshCredential {
  const owner_id = requireOwnerId(caller, body.owner_id);
  const key = keyOf(body.public_key, policy);
  return {
    description: body.description ?? '',
    metadata: body.metadata ?? '',
    acl: parseAcl(body.acl ?? []),
    owner_id,
    ...key,
    ...(body.expires_at !== undefined && { expires_at: futureTime(body.expires_at, at).toISOString() }),
    ...(body.source_cidrs !== undefined && { source_cidrs: parseCidrs(body.source_cidrs, 'source_cidrs') }),
  };
}

/** Throws Problem. */
function futureTime(text: string, at: Date): Date {
  const time = parseTime('expires_at', text);
  refusePast(time, at);
  return time;
}

/** Throws Problem. */
export function keyOf(text: string | undefined, { keys, strict }: SshCredentialPolicy): KeyOfCredential {
  const { type, bits, blob, fingerprint } = parsePublicKey(text, keys);
  return {
    public_key: text ?? '',
    key_type: type,
    key_bits: bits,
    key_blob: blob.toString('base64'),
    fingerprint,
    exclusive: strict,
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
