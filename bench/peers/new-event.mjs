/** The event that every store appends: the creation of a credential with a new key. */
import { createHash } from 'node:crypto';
import { newKeyBlob } from '../new-credential.mjs';

export const EVENT_TYPE = 'ssh_credential_created.v1';
export const METADATA = { actor: 'usr_000000000000000000000Bench1', ip: '192.0.2.7', user_agent: 'bench' };

export function newCredential() {
  const key = newKeyBlob();
  const blob = key.toString('base64');
  return {
    description: 'bench',
    metadata: '',
    public_key: `ssh-ed25519 ${blob} bench`,
    acl: ['bind:*.example.com'],
    owner_id: METADATA.actor,
    key_type: 'ssh-ed25519',
    key_bits: 256,
    key_blob: blob,
    fingerprint: `SHA256:${createHash('sha256').update(key).digest('base64').replace('=', '')}`,
    exclusive: false,
  };
}
