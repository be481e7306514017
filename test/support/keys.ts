import { generateKeyPairSync } from 'node:crypto';

/** A new ed25519 public key as one OpenSSH line, made without ssh-keygen. */
export const newPublicKey = (comment = 'test@example.test'): string => lineOf('ssh-ed25519', [newPoint()], comment);

/** The public half of an ed25519 key on a security key, as ssh-keygen writes it. */
export const newSecurityKey = (): string =>
  lineOf('sk-ssh-ed25519@openssh.com', [newPoint(), Buffer.from('ssh:')], 'security key');

const POINT_BYTES = 32;

/**
 * Takes the point from the end of the DER. The export as JWK sometimes waits for ever in Node 20, because of a
 * deadlock.
 */
function newPoint(): Buffer {
  const { publicKey } = generateKeyPairSync('ed25519');
  return publicKey.export({ format: 'der', type: 'spki' }).subarray(-POINT_BYTES);
}

function lineOf(type: string, fields: readonly Buffer[], comment: string): string {
  const blob = Buffer.concat([Buffer.from(type), ...fields].flatMap((field) => [lengthOf(field), field]));
  return `${type} ${blob.toString('base64')} ${comment}`;
}

function lengthOf(bytes: Buffer): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return length;
}
