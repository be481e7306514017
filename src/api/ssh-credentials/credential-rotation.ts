import { malformed } from '../../kernel/problem.js';
import type { CreatedSshCredential, KeyOfCredential, SshCredential, SshCredentialEvent } from './ssh-credential.js';

interface Rotation {
  readonly id: string;
  readonly newId: string;
  readonly at: Date;
  readonly overlapMs: number;
}

/**
 * The events of both credentials: the new one is as the old one but for its key, and the old one expires after the
 * overlap, or earlier if it would have. Throws Problem.
 */
export function rotate(old: SshCredential, key: KeyOfCredential, { id, newId, at, overlapMs }: Rotation) {
  const { description, metadata, acl, owner_id, expires_at, source_cidrs, device_name, device_addr } = old;
  if (key.fingerprint === old.fingerprint) {
    throw malformed('public_key is the key that this SSH credential has already; send another one.');
  }
  if (expires_at && expires_at <= at) {
    const message = `This SSH credential has expired at ${expires_at.toISOString()}; it is now ${at.toISOString()}.`;
    throw malformed(`${message} Set or remove its expiry first.`);
  }
  const end = new Date(Math.min(expires_at?.getTime() ?? Infinity, at.getTime() + overlapMs)).toISOString();
  const successor: CreatedSshCredential = {
    ...{ description, metadata, acl, owner_id, ...key },
    ...(expires_at && { expires_at: expires_at.toISOString() }),
    ...(source_cidrs && { source_cidrs }),
    ...(device_name != null && { device_name, ...(device_addr != null && { device_addr }) }),
    rotated_from: id,
  };
  const ended: SshCredentialEvent = {
    type: 'ssh_credential_expiry_changed.v1',
    data: { expires_at: end, rotated_to: newId },
  };
  return { successor, ended: [ended] };
}
