import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { PRIVATE_KEY_SENTENCE, refusal } from './public-key-type.js';
import { mpint, wireOf } from './public-key-wire.js';

/** SubjectPublicKeyInfo (BEGIN PUBLIC KEY) or PKCS#1 RSAPublicKey (BEGIN RSA PUBLIC KEY). */
type DerForm = 'spki' | 'pkcs1';
/** The names of these forms in `ssh-keygen -m`. */
const FORM_NAMES: Readonly<Record<DerForm, string>> = { spki: 'PKCS8', pkcs1: 'PEM' };

const UNCOMPRESSED = Buffer.of(4);
const SSH_CURVES: ReadonlyMap<string, string> = new Map([
  ['P-256', 'nistp256'],
  ['P-384', 'nistp384'],
  ['P-521', 'nistp521'],
]);

const HINTS: ReadonlyMap<string, string> = new Map([
  ['dsa', 'public_key is a DSA key, which is too weak; make a new one with `ssh-keygen -t ed25519`.'],
  ['x25519', 'public_key is an X25519 key, which cannot sign; make one with `ssh-keygen -t ed25519`.'],
  ['x448', 'public_key is an X448 key, which cannot sign; make one with `ssh-keygen -t ed25519`.'],
  ['ed448', 'public_key is an Ed448 key, which OpenSSH cannot use; make one with `ssh-keygen -t ed25519`.'],
  ['ec', 'public_key is on a curve that SSH has no name for; the curves are P-256, P-384 and P-521.'],
]);

/** The RFC 4253 form of the key in a PEM body. Only RSA, the three NIST curves and Ed25519 have such a form. */
export function wireFormOfPem(der: Buffer, form: DerForm): Buffer {
  // With type 'pkcs1' Node accepts a private key too and silently derives its public half.
  if (isPrivateKey(der)) throw refusal(PRIVATE_KEY_SENTENCE);
  const key = publicKeyIn(der, form);
  const jwk = jwkOf(key);
  const blob = blobOf(jwk);
  if (blob === undefined) throw notForSsh(key);
  // OpenSSL ignores trailing bytes, odd lengths and signs, and accepts compressed points and explicit curves.
  if (!canonicalDer(jwk, form)?.equals(der)) {
    throw refusal(
      `public_key is PEM in an unusual encoding; send what \`ssh-keygen -i -m ${FORM_NAMES[form]} -f FILE\` prints.`,
    );
  }
  return blob;
}

/** Private key forms (PKCS#1, PKCS#8, SEC 1) begin with a version number of 0 or 1; public key forms do not. */
function isPrivateKey(der: Buffer): boolean {
  const lengthByte = der[1] ?? 0;
  const content = lengthByte < 0x80 ? 2 : 2 + (lengthByte & 0x7f);
  return der[content] === 2 && der[content + 1] === 1 && (der[content + 2] ?? 2) < 2;
}

function publicKeyIn(der: Buffer, form: DerForm): KeyObject {
  try {
    return createPublicKey({ key: der, format: 'der', type: form });
  } catch {
    throw refusal('public_key is PEM, but its body is not a public key; copy the whole file again.');
  }
}

/** Some keys have no JWK form (DSA, P-224); `blobOf` does not support them either. */
function jwkOf(key: KeyObject): JsonWebKey {
  try {
    return key.export({ format: 'jwk' });
  } catch {
    return {};
  }
}

function blobOf({ kty, crv, ...jwk }: JsonWebKey): Buffer | undefined {
  const bytes = (base64url = '') => Buffer.from(base64url, 'base64url');
  if (kty === 'RSA') return wireOf('ssh-rsa', mpint(bytes(jwk.e)), mpint(bytes(jwk.n)));
  if (kty === 'OKP' && crv === 'Ed25519') return wireOf('ssh-ed25519', bytes(jwk.x));
  const curve = SSH_CURVES.get(crv ?? '');
  if (kty !== 'EC' || curve === undefined) return undefined;
  const point = Buffer.concat([UNCOMPRESSED, bytes(jwk.x), bytes(jwk.y)]);
  return wireOf(`ecdsa-sha2-${curve}`, Buffer.from(curve), point);
}

function notForSsh(key: KeyObject): Error {
  const hint = HINTS.get(key.asymmetricKeyType ?? '');
  return refusal(hint ?? 'public_key is PEM of a kind SSH cannot use; make one with `ssh-keygen -t ed25519`.');
}

/** The key as this service would write it; undefined if the numbers are not a key, such as a point off its curve. */
function canonicalDer(jwk: JsonWebKey, form: DerForm): Buffer | undefined {
  try {
    return createPublicKey({ key: jwk, format: 'jwk' }).export({ format: 'der', type: form });
  } catch {
    return undefined;
  }
}
