import { randomBytes } from 'node:crypto';
import { CommandHandler, type ICommandHandler } from '@nestjs/cqrs';
import { malformed } from '../../kernel/problem.js';
import { hashToken, TOKEN_SECRET_BYTES } from '../access/api-keys/api-key.js';
import type { RequestContext } from '../http/request-context.js';
import { refuseUnlessMayManageEnrollment } from '../resources/access-rules.js';
import { Changed, Changes } from '../resources/changes.js';
import { CreateCommand, DeleteCommand } from '../resources/commands.js';
import { parseTime, refusePast } from '../resources/expiry/expiry.js';
import { Owners, ownerRefusals, requireOwnerId } from '../resources/owners.js';
import { parseDeviceAcl, parseDeviceName } from './device-acl.js';
import { type CreatedEnrollmentKey, create, type EnrollmentKey, remove } from './enrollment-key.js';
import { type CreateEnrollmentKeyBody, ENROLLMENT_KEYS } from './enrollment-keys.resource.js';

export class CreateEnrollmentKey extends CreateCommand<CreateEnrollmentKeyBody> {}
export class DeleteEnrollmentKey extends DeleteCommand {}

@CommandHandler(CreateEnrollmentKey)
class CreateEnrollmentKeyHandler implements ICommandHandler<CreateEnrollmentKey> {
  constructor(
    private readonly changes: Changes,
    private readonly owners: Owners,
  ) {}

  async execute({ context, body }: CreateEnrollmentKey) {
    const secret = randomBytes(TOKEN_SECRET_BYTES);
    const decide = async (id: string, { caller }: RequestContext, at: Date) => {
      refuseUnlessMayManageEnrollment(caller);
      const owner_id = requireOwnerId(caller, body.owner_id);
      const key = parseEnrollmentKey(body, at);
      await this.owners.refuseUnusable(caller, owner_id, false);
      return create({ ...key, owner_id, token_hash: hashToken(tokenOf(id, secret)) });
    };
    const refusals = ownerRefusals(body.owner_id || context.caller.principalId);
    return new CreatedKey(await this.changes.create(ENROLLMENT_KEYS, context, decide, { refusals }), secret);
  }
}

@CommandHandler(DeleteEnrollmentKey)
class DeleteEnrollmentKeyHandler implements ICommandHandler<DeleteEnrollmentKey> {
  constructor(private readonly changes: Changes) {}

  execute({ context, id }: DeleteEnrollmentKey) {
    return this.changes.apply(ENROLLMENT_KEYS, context, id, (key, { caller }) => remove(key, caller));
  }
}

/** Throws Problem. */
function parseEnrollmentKey(
  {
    description = '',
    metadata = '',
    acl = [],
    reserve_addr = false,
    name,
    max_uses,
    expires_at,
  }: CreateEnrollmentKeyBody,
  at: Date,
): Omit<CreatedEnrollmentKey, 'owner_id' | 'token_hash'> {
  if (name !== undefined && max_uses !== 1) throw malformed('max_uses must be 1 for an enrollment key with a name.');
  const end = expires_at === undefined ? null : parseTime('expires_at', expires_at);
  refusePast(end, at);
  return {
    ...{ description, metadata, reserve_addr, max_uses },
    acl: parseDeviceAcl(acl, reserve_addr),
    name: name === undefined ? null : parseDeviceName(name),
    ...(end !== null && { expires_at: end.toISOString() }),
  };
}

/** Its prefix tells people and scanners that it is no API key. */
const tokenOf = (id: string, secret: Buffer): string =>
  `enroll_${id.replace(/^enk_/, '')}_${secret.toString('base64url')}`;

/** The only answer with the token. A repetition of the request has none: the database holds only the hash. */
class CreatedKey extends Changed<EnrollmentKey> {
  constructor(
    { entity, position, isDuplicate }: Changed<EnrollmentKey>,
    private readonly secret: Buffer,
  ) {
    super(ENROLLMENT_KEYS, entity, position, isDuplicate);
  }

  override render(baseUrl: string): object {
    const token = this.isDuplicate || this.entity === undefined ? null : tokenOf(this.entity.id, this.secret);
    return { ...super.render(baseUrl), token };
  }
}

export const ENROLLMENT_KEY_HANDLERS = [CreateEnrollmentKeyHandler, DeleteEnrollmentKeyHandler];
