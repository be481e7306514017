import { refusal } from './public-key-type.js';
import { bitsOfMpint } from './public-key-wire.js';

/** OpenSSH refuses longer keys. */
const MAX_RSA_BITS = 16_384;
const MAX_EXPONENT_BITS = 32;
const SMALLEST_EXPONENT = 3;
/** The check of a public key in OpenSSL looks for factors up to the same bound. */
const FACTORS_BELOW = 752;
const SMALL_PRIMES: readonly bigint[] = oddPrimesBelow(FACTORS_BELOW).map(BigInt);
/** The modulus is divided by this product first, so that it is divided by the primes only as a small remainder. */
const PRODUCT = SMALL_PRIMES.reduce((product, prime) => product * prime);

/** The size in bits of an RSA key. Throws if its numbers show a weakness; the minimum size is the caller's policy. */
export function rsaBits({ exponent, modulus }: { exponent: Buffer; modulus: Buffer }): number {
  refuseWeakExponent(exponent);
  const bits = bitsOfMpint(modulus);
  if (bits > MAX_RSA_BITS) throw refusal(`public_key is an RSA key of ${bits} bits; the maximum is ${MAX_RSA_BITS}.`);
  if (isEven(modulus) || hasSmallFactor(BigInt(`0x${modulus.toString('hex')}`))) {
    throw refusal('public_key is an RSA key whose modulus has a small factor, so it is broken; make a new key.');
  }
  return bits;
}

const isEven = (field: Buffer): boolean => ((field.at(-1) ?? 0) & 1) === 0;

/**
 * An exponent above 32 bits makes every login slow. With exponent 1 anyone can sign, and with an even one nobody can.
 */
function refuseWeakExponent(exponent: Buffer): void {
  const bits = bitsOfMpint(exponent);
  if (bits > MAX_EXPONENT_BITS) {
    throw refusal(`public_key is an RSA key whose exponent has ${bits} bits; the maximum is ${MAX_EXPONENT_BITS}.`);
  }
  if (isEven(exponent) || exponent.readUIntBE(0, exponent.length) < SMALLEST_EXPONENT) {
    throw refusal('public_key is an RSA key whose exponent is even or 1, so it is broken; make a new key.');
  }
}

function hasSmallFactor(modulus: bigint): boolean {
  const remainder = modulus % PRODUCT;
  return SMALL_PRIMES.some((prime) => remainder % prime === 0n);
}

function oddPrimesBelow(bound: number): number[] {
  const primes: number[] = [];
  for (let n = 3; n < bound; n += 2) if (primes.every((prime) => n % prime !== 0)) primes.push(n);
  return primes;
}
