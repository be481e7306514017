import { randomBytes } from 'node:crypto';

/**
 * A new ed25519 key. Any 32 bytes below the field's prime decode as a key. Making real pairs would take longer than the
 * request.
 */
export function newKeyBlob() {
  const key = randomBytes(32);
  key[31] &= 0x3f;
  return Buffer.concat([Buffer.from('0000000b7373682d6564323535313900000020', 'hex'), key]);
}

/** The body of a request that creates a credential with a new key. */
export const newBody = () =>
  JSON.stringify({
    public_key: `ssh-ed25519 ${newKeyBlob().toString('base64')} bench`,
    description: 'bench',
    acl: ['bind:*.example.com'],
  });
