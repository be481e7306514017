import { ECDH } from 'node:crypto';
import { refusal } from './public-key-type.js';

/** The first byte of an uncompressed point, in front of both coordinates. */
const UNCOMPRESSED = 4;

const CURVES = {
  nistp256: { name: 'prime256v1', bits: 256, coordinateBytes: 32 },
  nistp384: { name: 'secp384r1', bits: 384, coordinateBytes: 48 },
  nistp521: { name: 'secp521r1', bits: 521, coordinateBytes: 66 },
} as const;

/** The size in bits of a NIST key. Throws unless its point is uncompressed, as OpenSSH demands, and on the curve. */
export function nistBits(curve: keyof typeof CURVES, point: Buffer): number {
  const { name, bits, coordinateBytes } = CURVES[curve];
  if (point.length !== 1 + 2 * coordinateBytes || point[0] !== UNCOMPRESSED) {
    throw refusal(`public_key is an ecdsa-sha2-${curve} key whose point is compressed or of a wrong length.`);
  }
  if (!isOnCurve(point, name)) {
    throw refusal(`public_key is an ecdsa-sha2-${curve} key whose point is not on the curve; make a new key.`);
  }
  return bits;
}

/**
 * OpenSSL checks the range and the equation of the curve when it decodes a point. This is enough, since these curves
 * have no small subgroups. To import the point as a key takes 1 ms of CPU on P-521, which any stranger could cause by
 * offering a key.
 */
function isOnCurve(point: Buffer, curve: string): boolean {
  try {
    ECDH.convertKey(point, curve);
    return true;
  } catch {
    return false;
  }
}

const ED25519_BYTES = 32;
const SIGN_BIT = 0x80;

/** The y of the eight points whose order divides 8 (little-endian, without the sign of x). Anyone can sign for them. */
const LOW_ORDER_Y: ReadonlySet<string> = new Set([
  `00${'00'.repeat(31)}`,
  `01${'00'.repeat(31)}`,
  `ec${'ff'.repeat(30)}7f`,
  '26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05',
  'c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a',
]);

/**
 * The size in bits of an Ed25519 key. It does not check that y belongs to a point of the curve, because a key off the
 * curve verifies no signature, so nobody can log in with it. The check would take more CPU than all others together,
 * and any stranger could cause it.
 */
export function ed25519Bits(point: Buffer): number {
  if (point.length !== ED25519_BYTES) {
    throw refusal(`public_key is an Ed25519 key of ${point.length} bytes; it must have ${ED25519_BYTES}.`);
  }
  const y = Buffer.from(point);
  y[31] = (point[31] ?? 0) & ~SIGN_BIT;
  if (!isBelowFieldPrime(y) || LOW_ORDER_Y.has(y.toString('hex'))) {
    throw refusal('public_key is an Ed25519 key for which anyone could sign; make a new one with `ssh-keygen`.');
  }
  return 256;
}

/** Whether y < 2^255 - 19. A greater y would give the same point a second fingerprint. */
function isBelowFieldPrime(y: Buffer): boolean {
  return (y[0] ?? 0) < 0xed || y[31] !== 0x7f || y.subarray(1, 31).some((byte) => byte !== 0xff);
}
