import { generateKeyPairSync } from 'node:crypto';

/** A fresh ed25519 public key as one OpenSSH line; needs no ssh-keygen. */
export function newPublicKey(comment = 'test@example.test'): string {
  const { publicKey } = generateKeyPairSync('ed25519');
  const { x } = publicKey.export({ format: 'jwk' });
  const type = Buffer.from('ssh-ed25519');
  const key = Buffer.from(x ?? '', 'base64url');
  const blob = Buffer.concat([lengthOf(type), type, lengthOf(key), key]);
  return `ssh-ed25519 ${blob.toString('base64')} ${comment}`;
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return length;
}
