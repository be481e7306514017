import { createPublicKey, hash, type JsonWebKey, type KeyObject, verify } from 'node:crypto';
import { Problem } from '../../kernel/problem.js';
import { WireFields } from '../../rules/index.js';

/** The types of FIDO keys (OpenSSH, PROTOCOL.u2f). Such a key is in a token, which signs for one application. */
export const SECURITY_KEY_TYPES: readonly string[] = [
  'sk-ssh-ed25519@openssh.com',
  'sk-ecdsa-sha2-nistp256@openssh.com',
];

const ED25519_BYTES = 64;
const COORDINATE_BYTES = 32;
/** A byte of flags and the counter of the token, after the signature. */
const END_BYTES = 5;
/** The flag that a person touched the token. Without this check a program could sign while nobody is there. */
const USER_PRESENT = 0x01;

/** The parts of an OpenSSH signature of a FIDO key, after its type. */
interface TokenSignature {
  readonly signature: Buffer;
  /** The flags and the counter, as the token signed them. */
  readonly end: Buffer;
}

/** Whether the FIDO key signed the message, and a person touched its token. `key`: the key in wire format. */
export function isSignedBySecurityKey(key: Buffer, message: Buffer, sent: Buffer): boolean {
  try {
    const { type, publicKey, application } = readKey(key);
    const { signature, end } = readSignature(type, sent);
    if (((end[0] ?? 0) & USER_PRESENT) === 0) return false;
    const signed = Buffer.concat([hash('sha256', application, 'buffer'), end, hash('sha256', message, 'buffer')]);
    if (publicKey.asymmetricKeyType === 'ed25519') return verify(null, signed, publicKey, signature);
    return verify('sha256', signed, { key: publicKey, dsaEncoding: 'ieee-p1363' }, signature);
  } catch (error) {
    if (error instanceof Problem || error instanceof RangeError) return false;
    throw error;
  }
}

interface SecurityKey {
  readonly type: string;
  readonly publicKey: KeyObject;
  readonly application: Buffer;
}

function readKey(wire: Buffer): SecurityKey {
  const fields = new WireFields(wire);
  const type = fields.next().toString('latin1');
  const jwk = type === 'sk-ssh-ed25519@openssh.com' ? ed25519(fields.next()) : p256(fields.next(), fields.next());
  return { type, publicKey: createPublicKey({ key: jwk, format: 'jwk' }), application: fields.next() };
}

const ed25519 = (point: Buffer): JsonWebKey => ({ kty: 'OKP', crv: 'Ed25519', x: point.toString('base64url') });

/** The point is uncompressed: one byte, and then both coordinates. */
const p256 = (_curve: Buffer, point: Buffer): JsonWebKey => ({
  kty: 'EC',
  crv: 'P-256',
  x: point.toString('base64url', 1, 1 + COORDINATE_BYTES),
  y: point.toString('base64url', 1 + COORDINATE_BYTES),
});

/** `sent`: the signature without the type and without the length field after it, which the library has removed. */
function readSignature(type: string, sent: Buffer): TokenSignature {
  const at = sent.length - END_BYTES;
  if (at < 0) throw new RangeError('the signature is too short');
  const [signature, end] = [sent.subarray(0, at), sent.subarray(at)];
  if (type !== 'sk-ssh-ed25519@openssh.com') return { signature: readNumbers(signature), end };
  if (signature.length !== ED25519_BYTES) throw new RangeError('the signature has a wrong length');
  return { signature, end };
}

function readNumbers(wire: Buffer): Buffer {
  const fields = new WireFields(wire);
  const numbers = [fields.next(), fields.next()].map(coordinate);
  fields.end();
  return Buffer.concat(numbers);
}

/** A positive SSH number, padded to the length of the curve. */
function coordinate(mpint: Buffer): Buffer {
  const digits = mpint[0] === 0 ? mpint.subarray(1) : mpint;
  if (digits.length > COORDINATE_BYTES) throw new RangeError('a number of the signature is too large');
  return Buffer.concat([Buffer.alloc(COORDINATE_BYTES - digits.length), digits]);
}
