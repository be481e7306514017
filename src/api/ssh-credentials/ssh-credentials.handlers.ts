import { ClaimRefused, ConstraintViolated } from '../../event-log/index.js';
import type { Caller } from '../../kernel/caller.js';
import { omitUndefined } from '../../kernel/omit-undefined.js';
import { Problem } from '../../kernel/problem.js';
import { type KeyPolicy, parseAcl, parseCidrs, parsePublicKey } from '../../rules/index.js';
import type { RequestContext } from '../http/request-context.js';
import { Changes } from '../resources/changes.js';
import { parseTime } from '../resources/expiry/expiry.js';
import { handlerOf } from '../resources/handler-of.js';
import { explainDeletedOwner, Owners, requireOwnerId } from '../resources/owners.js';
import {
  type CreatedSshCredential,
  create,
  remove,
  restrictSources,
  type SshCredential,
  setExpiry,
  update,
} from './ssh-credential.js';
import { EXCLUSIVE_KEY_CONSTRAINT, UsedKeys } from './ssh-credentials.read-model.js';
import {
  CreateSshCredential,
  DeleteSshCredential,
  RestrictSshCredentialSources,
  SetSshCredentialExpiry,
  SSH_CREDENTIALS,
  UpdateSshCredential,
} from './ssh-credentials.resource.js';

/** The operator's settings for keys: see config.ts. */
export abstract class SshCredentialPolicy {
  abstract readonly strict: boolean;
  abstract readonly keys: KeyPolicy;
}

function credentialOf(
  caller: Caller,
  body: CreateSshCredential['body'],
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

/** The unique index decides races. It omits credentials from before strict mode, which this look-up finds. */
async function refuseUsedKey(keys: UsedKeys, accountId: string, fingerprint: string): Promise<void> {
  if (await keys.has(accountId, fingerprint)) throw keyAlreadyUsed();
}

const keyAlreadyUsed = (): Problem =>
  new Problem('public_key_already_used', 'This public key already has an SSH credential on this account.');

function explainTakenKey(error: unknown): unknown {
  if (error instanceof ClaimRefused) {
    return new Problem('public_key_used_elsewhere', 'This public key is already in use on another account.');
  }
  if (error instanceof ConstraintViolated && error.constraint === EXCLUSIVE_KEY_CONSTRAINT) return keyAlreadyUsed();
  return error;
}

export const SSH_CREDENTIAL_HANDLERS = [
  handlerOf(
    CreateSshCredential,
    [Changes, UsedKeys, Owners, SshCredentialPolicy],
    ({ context, body }, changes, keys, owners, policy) => {
      const decide = async (_: string, { caller }: RequestContext) => {
        const credential = credentialOf(caller, body, policy);
        await Promise.all([
          owners.refuseUnusable(caller, credential.owner_id, policy.strict),
          policy.strict && refuseUsedKey(keys, caller.accountId, credential.fingerprint),
        ]);
        return create(credential)(undefined);
      };
      return changes.create(SSH_CREDENTIALS, context, decide).catch((error) => {
        throw explainDeletedOwner(explainTakenKey(error), body.owner_id || context.caller.principalId);
      });
    },
  ),

  handlerOf(UpdateSshCredential, [Changes], ({ context, id, body }, changes) => {
    const { description, metadata, acl } = body;
    const decide = (credential: SshCredential | undefined, { caller: by }: RequestContext) =>
      update({ by, ...omitUndefined({ description, metadata, acl: acl && parseAcl(acl) }) })(credential);
    return changes.apply(SSH_CREDENTIALS, context, id, decide, { sent: body });
  }),

  handlerOf(DeleteSshCredential, [Changes], ({ context, id }, changes) =>
    changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller: by }) => remove({ by })(credential)),
  ),

  handlerOf(SetSshCredentialExpiry, [Changes], ({ context, id, body }, changes) =>
    changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller: by }) => setExpiry({ by, ...body })(credential)),
  ),

  handlerOf(RestrictSshCredentialSources, [Changes], ({ context, id, body }, changes) =>
    changes.apply(SSH_CREDENTIALS, context, id, (credential, { caller: by }) =>
      restrictSources({ by, ...body })(credential),
    ),
  ),
];
