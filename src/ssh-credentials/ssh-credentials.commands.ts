import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { parseAcl } from '../bind-rules/acl.js';
import type { Caller } from '../caller.js';
import type { RequestContext } from '../http/request-context.js';
import { ConstraintViolated } from '../log/append/append-failures.js';
import { omitUndefined } from '../omit-undefined.js';
import { Problem } from '../problem.js';
import { type KeyPolicy, parsePublicKey } from '../public-keys/public-key.js';
import { requireOwnOrAdmin } from '../resources/access-rules.js';
import { Changes } from '../resources/changes.js';
import { explainDeletedOwner, inactiveOwner, Owners, unknownOwner } from '../resources/owners.js';
import { create, remove, type SshCredential, update } from './ssh-credential.js';
import { EXCLUSIVE_KEY_CONSTRAINT, KeyHolders } from './ssh-credentials.read-model.js';
import {
  type CreateSshCredentialBody,
  SSH_CREDENTIALS,
  type UpdateSshCredentialBody,
} from './ssh-credentials.resource.js';

/** What the operator decided about keys: see config.ts. */
export abstract class SshCredentialPolicy {
  abstract readonly strict: boolean;
  abstract readonly keys: KeyPolicy;
}

export class CreateSshCredential {
  constructor(
    readonly context: RequestContext,
    readonly body: CreateSshCredentialBody,
  ) {}
}

@CommandHandler(CreateSshCredential)
export class CreateSshCredentialHandler implements ICommandHandler<CreateSshCredential> {
  constructor(
    private readonly changes: Changes,
    private readonly holders: KeyHolders,
    private readonly owners: Owners,
    private readonly policy: SshCredentialPolicy,
  ) {}

  execute({ context, body }: CreateSshCredential) {
    const decide = async () => {
      const credential = this.credentialOf(context, body);
      await Promise.all([this.refuseInactiveOwner(context, credential), this.refuseTakenKey(context, credential)]);
      return create(credential)(undefined);
    };
    return this.changes.create(SSH_CREDENTIALS, context, decide).catch((error) => {
      throw explainDeletedOwner(explainTakenKey(error), body.owner_id || context.caller.principalId);
    });
  }

  private credentialOf({ caller }: RequestContext, body: CreateSshCredentialBody): SshCredential {
    const owner_id = ownerOf(caller, body.owner_id);
    const key = parsePublicKey(body.public_key, this.policy.keys);
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
      exclusive: this.policy.strict,
    };
  }

  /** An owner that the account does not know is stored as given: it may live in the operator's own directory. */
  private async refuseInactiveOwner({ caller }: RequestContext, { owner_id: id }: SshCredential): Promise<void> {
    if (id === caller.principalId) return;
    const owner = await this.owners.find({ accountId: caller.accountId, id });
    if (owner?.active === false) throw inactiveOwner(id);
    if (owner === undefined && this.policy.strict) throw unknownOwner(id);
  }

  /** A key belongs to one account. Strict mode allows it once there; the unique index decides races. */
  private async refuseTakenKey(
    { accountId }: RequestContext,
    { fingerprint, exclusive }: SshCredential,
  ): Promise<void> {
    const accounts = (await this.holders.of(fingerprint)) ?? [];
    if (accounts.some((id) => id !== accountId)) {
      throw new Problem('public_key_used_elsewhere', 'This public key is already in use on another account.');
    }
    if (exclusive && accounts.length > 0) throw keyAlreadyUsed();
  }
}

const keyAlreadyUsed = (): Problem =>
  new Problem('public_key_already_used', 'This public key already has an SSH credential on this account.');

const explainTakenKey = (error: unknown): unknown =>
  error instanceof ConstraintViolated && error.constraint === EXCLUSIVE_KEY_CONSTRAINT ? keyAlreadyUsed() : error;

const OWNER_ID = /^[A-Za-z0-9_-]{1,128}$/;

function ownerOf(caller: Caller, named: string | undefined): string {
  const ownerId = requireOwnOrAdmin(caller, named);
  if (OWNER_ID.test(ownerId)) return ownerId;
  throw new Problem('request_malformed', 'owner_id must be 1 to 128 characters of A-Z, a-z, 0-9, _ and -.');
}

export class UpdateSshCredential {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly body: UpdateSshCredentialBody,
  ) {}
}

@CommandHandler(UpdateSshCredential)
export class UpdateSshCredentialHandler implements ICommandHandler<UpdateSshCredential> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id, body }: UpdateSshCredential) {
    const { description, metadata, acl } = body;
    const decide = (credential: SshCredential | undefined) => {
      const changes = omitUndefined({ description, metadata, acl: acl && parseAcl(acl) });
      return update({ by: context.caller, ...changes })(credential);
    };
    return this.changes.apply(SSH_CREDENTIALS, context, id, decide, { sent: body });
  }
}

export class DeleteSshCredential {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
  ) {}
}

@CommandHandler(DeleteSshCredential)
export class DeleteSshCredentialHandler implements ICommandHandler<DeleteSshCredential> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id }: DeleteSshCredential) {
    return this.changes.apply(SSH_CREDENTIALS, context, id, remove({ by: context.caller }));
  }
}
