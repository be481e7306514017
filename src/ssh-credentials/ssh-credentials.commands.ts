import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { parseAcl } from '../bind-rules/acl.js';
import type { Caller } from '../caller.js';
import type { RequestContext } from '../http/request-context.js';
import { ConstraintViolated } from '../log/append/event-log.js';
import { omitUndefined } from '../omit-undefined.js';
import { Problem } from '../problem.js';
import { type KeyPolicy, parsePublicKey } from '../public-keys/public-key.js';
import { type Changed, Streams } from '../resources/changes.js';
import { explainDeletedOwner, inactiveOwner, Owners, refuseForeignOwner, unknownOwner } from '../resources/owners.js';
import { refuseOtherTime } from '../resources/read-only-fields.js';
import { create, remove, type SshCredential, update } from './ssh-credential.js';
import { EXCLUSIVE_KEY_CONSTRAINT, SshCredentials, sshCredentialsReadModel } from './ssh-credentials.read-model.js';

/** What the operator decided about keys: see config.ts. */
export abstract class SshCredentialPolicy {
  abstract readonly strict: boolean;
  abstract readonly keys: KeyPolicy;
}

export class CreateSshCredential {
  constructor(
    readonly context: RequestContext,
    readonly input: {
      readonly description?: string;
      readonly metadata?: string;
      readonly publicKey?: string;
      readonly acl?: readonly unknown[];
      readonly ownerId?: string;
    },
  ) {}
}

const OWNER_ID = /^[A-Za-z0-9_-]{1,128}$/;

@CommandHandler(CreateSshCredential)
export class CreateSshCredentialHandler implements ICommandHandler<CreateSshCredential> {
  constructor(
    private readonly streams: Streams,
    private readonly credentials: SshCredentials,
    private readonly owners: Owners,
    private readonly policy: SshCredentialPolicy,
  ) {}

  async execute({ context, input }: CreateSshCredential): Promise<Changed<SshCredential>> {
    const { accountId } = context.caller;
    const state = this.stateFrom(context.caller, input);
    await Promise.all([this.refuseInactiveOwner(context.caller, state.ownerId), this.refuseTakenKey(accountId, state)]);
    const at = this.streams.ids.now();
    return this.streams
      .change({
        model: sshCredentialsReadModel,
        accountId,
        streamId: this.streams.ids.next('sshcr', at),
        load: () => Promise.resolve(undefined),
        decide: (entity) => create(state)(entity?.state),
        ...context.change,
        occurredAt: at,
      })
      .catch((error) => {
        throw explainDeletedOwner(explainTakenKey(error), state.ownerId);
      });
  }

  private stateFrom(caller: Caller, input: CreateSshCredential['input']): SshCredential {
    const ownerId = ownerFrom(caller, input.ownerId);
    const key = parsePublicKey(input.publicKey, this.policy.keys);
    return {
      description: input.description ?? '',
      metadata: input.metadata ?? '',
      publicKey: input.publicKey ?? '',
      acl: parseAcl(input.acl ?? []),
      ownerId,
      keyType: key.type,
      keyBits: key.bits,
      keyBlob: key.blob.toString('base64'),
      fingerprint: key.fingerprint,
      isExclusive: this.policy.strict,
    };
  }

  /** An owner this account does not know is taken as given: it may live in the operator's own directory. */
  private async refuseInactiveOwner(caller: Caller, ownerId: string): Promise<void> {
    if (ownerId === caller.principalId) return;
    const owner = await this.owners.find({ accountId: caller.accountId, id: ownerId });
    if (owner?.active === false) throw inactiveOwner(ownerId);
    if (owner === undefined && this.policy.strict) throw unknownOwner(ownerId);
  }

  /** A key belongs to one account; within it, strict mode allows it once. The index decides the races of strict mode. */
  private async refuseTakenKey(accountId: string, { fingerprint, isExclusive }: SshCredential): Promise<void> {
    const accounts = (await this.credentials.accountsWithKey(fingerprint)) ?? [];
    if (accounts.some((id) => id !== accountId)) {
      throw new Problem('public_key_used_elsewhere', 'This public key is already in use on another account.');
    }
    if (isExclusive && accounts.length > 0) throw keyAlreadyUsed();
  }
}

const keyAlreadyUsed = (): Problem =>
  new Problem('public_key_already_used', 'This public key already has an SSH credential on this account.');

const explainTakenKey = (error: unknown): unknown =>
  error instanceof ConstraintViolated && error.constraint === EXCLUSIVE_KEY_CONSTRAINT ? keyAlreadyUsed() : error;

function ownerFrom(caller: Caller, ownerId: string | undefined): string {
  if (ownerId === undefined || ownerId === '') return caller.principalId;
  refuseForeignOwner(caller, ownerId);
  if (!OWNER_ID.test(ownerId)) {
    const text = 'owner_id must be 1 to 128 characters of A-Z, a-z, 0-9, _ and -.';
    throw new Problem('request_malformed', text);
  }
  return ownerId;
}

export class UpdateSshCredential {
  constructor(
    readonly context: RequestContext,
    readonly id: string,
    readonly input: {
      readonly description?: string;
      readonly metadata?: string;
      readonly acl?: readonly unknown[];
      readonly publicKey?: string;
      readonly ownerId?: string;
      readonly createdAt?: string;
    },
  ) {}
}

@CommandHandler(UpdateSshCredential)
export class UpdateSshCredentialHandler implements ICommandHandler<UpdateSshCredential> {
  constructor(
    private readonly streams: Streams,
    private readonly credentials: SshCredentials,
  ) {}

  async execute({ context, id, input }: UpdateSshCredential): Promise<Changed<SshCredential>> {
    const { accountId } = context.caller;
    const { description, metadata, acl, publicKey, ownerId, createdAt } = input;
    const args = {
      by: context.caller,
      ...omitUndefined({ description, metadata, acl: acl === undefined ? undefined : parseAcl(acl) }),
      readOnly: omitUndefined({ publicKey, ownerId }),
    };
    return this.streams.change({
      model: sshCredentialsReadModel,
      accountId,
      streamId: id,
      load: () => this.credentials.find({ accountId, id }),
      decide: (entity) => {
        const events = update(args)(entity?.state);
        refuseOtherTime(createdAt, entity);
        return events;
      },
      ...context.change,
      occurredAt: this.streams.ids.now(),
    });
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
  constructor(
    private readonly streams: Streams,
    private readonly credentials: SshCredentials,
  ) {}

  async execute({ context, id }: DeleteSshCredential): Promise<Changed<SshCredential>> {
    const { accountId } = context.caller;
    return this.streams.change({
      model: sshCredentialsReadModel,
      accountId,
      streamId: id,
      load: () => this.credentials.find({ accountId, id }),
      decide: (entity) => remove({ by: context.caller })(entity?.state),
      ...context.change,
      occurredAt: this.streams.ids.now(),
    });
  }
}
