import { randomBytes } from 'node:crypto';

/** A new ed25519 key. Any 32 bytes below the field's prime decode as one; making real pairs would be the load. */
export function newKeyBlob() {
  const key = randomBytes(32);
  key[31] &= 0x3f;
  return Buffer.concat([Buffer.from('0000000b7373682d6564323535313900000020', 'hex'), key]);
}

/** The body that creates a credential of a new key. */
export const newBody = () =>
  JSON.stringify({
    public_key: `ssh-ed25519 ${newKeyBlob().toString('base64')} bench`,
    description: 'bench',
    acl: ['bind:*.example.com'],
  });
