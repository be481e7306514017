import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { fold, type StreamAppend } from '../../event-log/index.js';
import type { RequestContext } from '../http/request-context.js';
import { Changes, type Refusals, refuseOtherVersion } from '../resources/changes.js';
import { UpdateCommand } from '../resources/commands.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { OWNER_DELETED_CONSTRAINT } from '../resources/resource-descriptor.js';
import { rotate } from './credential-rotation.js';
import { create, requireChangeable } from './ssh-credential.js';
import { keyOf, NewCredentials, SshCredentialPolicy } from './ssh-credentials.handlers.js';
import { DEVICE_NAME_CONSTRAINT } from './ssh-credentials.read-model.js';
import { SSH_CREDENTIALS } from './ssh-credentials.resource.js';

interface RotationBody {
  readonly public_key?: string;
  readonly overlap_seconds: number;
}

export class RotateSshCredential extends UpdateCommand<RotationBody> {}

@CommandHandler(RotateSshCredential)
export class RotateSshCredentialHandler implements ICommandHandler<RotateSshCredential> {
  constructor(
    private readonly changes: Changes,
    private readonly entities: EntityQueries,
    private readonly added: NewCredentials,
    private readonly policy: SshCredentialPolicy,
  ) {}

  execute({ context, id, body }: RotateSshCredential) {
    const { model } = SSH_CREDENTIALS;
    const ref = { accountId: context.accountId, id };
    // The attempts of a change run one after another, and each of them decides before its append.
    let ending: StreamAppend[] = [];
    const decide = async (newId: string, { caller, ifMatch }: RequestContext, at: Date) => {
      const old = await this.entities.find(SSH_CREDENTIALS, ref);
      const before = requireChangeable(caller, old);
      const key = keyOf(body.public_key, this.policy);
      const { successor, ended } = rotate(before, key, { id, newId, at, overlapMs: body.overlap_seconds * 1_000 });
      if (old !== undefined) refuseOtherVersion(old, ifMatch);
      await this.added.refuseUnusable(caller, successor);
      ending = [{ model, id, before: old, events: ended, after: fold(model, ref, old, ended, at) }];
      return create(successor);
    };
    // Who has deleted the owner or replaced the device meanwhile is found by the next attempt.
    const again: Refusals = { [OWNER_DELETED_CONSTRAINT]: 'again', [DEVICE_NAME_CONSTRAINT]: 'again' };
    const refusals: Refusals = { ...this.added.refusals, ...again };
    return this.changes.create(SSH_CREDENTIALS, context, decide, { refusals, alongside: async () => ending });
  }
}
