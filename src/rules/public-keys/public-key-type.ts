import { malformed, Problem } from '../../kernel/problem.js';

/** The longest text of a key. An RSA key of 16384 bits, the maximum, with a long comment takes a quarter of this. */
export const MAX_PUBLIC_KEY_BYTES = 16_384;

/** The key types a credential may hold, by their SSH names (RFC 4253, 5656, 8709 and OpenSSH's PROTOCOL.u2f). */
const ACCEPTED = [
  'ssh-ed25519',
  'sk-ssh-ed25519@openssh.com',
  'ecdsa-sha2-nistp256',
  'ecdsa-sha2-nistp384',
  'ecdsa-sha2-nistp521',
  'sk-ecdsa-sha2-nistp256@openssh.com',
  'ssh-rsa',
] as const;
export type KeyType = (typeof ACCEPTED)[number];

/** It is a Map, because a caller may send names such as `constructor` and `__proto__`. */
const BY_NAME: ReadonlyMap<string, KeyType> = new Map(ACCEPTED.map((type) => [type, type]));

const REFUSED: ReadonlyMap<string, string> = new Map([
  ['ssh-dss', 'public_key is a DSA key, which is too weak; make a new one with `ssh-keygen -t ed25519`.'],
  ['ssh-ed448', 'public_key is an Ed448 key, which OpenSSH cannot use; make one with `ssh-keygen -t ed25519`.'],
  ['ssh-curve25519', 'public_key is an X25519 key, which cannot sign; make one with `ssh-keygen -t ed25519`.'],
  ['rsa-sha2-256', 'public_key names a signature algorithm; the type of an RSA key is ssh-rsa.'],
  ['rsa-sha2-512', 'public_key names a signature algorithm; the type of an RSA key is ssh-rsa.'],
]);

const CERTIFICATE_TYPE = /-cert-v\d\d@openssh\.com$/;

/** Says in a sentence what is wrong with the key. The sentence must not quote the upload: it may be a secret. */
export const refusal = (sentence: string): Problem => new Problem('public_key_invalid', sentence);

export const certificateRefusal = (): Problem =>
  refusal('public_key is a certificate; upload the plain public key it was issued for.');

export const PRIVATE_KEY_SENTENCE =
  'public_key holds a private key; treat that key as leaked, make a new pair and upload only the public half (the .pub file).';

export const isKeyType = (name: string): boolean => BY_NAME.has(name);

/** A list without line breaks has something between its keys: `... a;ssh-ed25519 AAAA...`. */
export const endsWithKeyType = (word: string): boolean => ACCEPTED.some((type) => word.endsWith(type));

/** The accepted type with this name. Throws the most helpful refusal for any other name. */
export function keyTypeNamed(name: string): KeyType {
  const type = BY_NAME.get(name);
  if (type !== undefined) return type;
  if (CERTIFICATE_TYPE.test(name)) throw certificateRefusal();
  throw refusal(REFUSED.get(name) ?? `public_key is not of a known type; the types are ${ACCEPTED.join(', ')}.`);
}

/** 32 bytes in base64 without padding. The last character carries only 4 bits, so it is one of 16. */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/;

/** Whether `text` is a fingerprint exactly as `ssh-keygen -l` prints it. */
export const isFingerprint = (text: string): boolean => FINGERPRINT.test(text);

/** The fingerprint that a request sends. Throws request_malformed. */
export function readFingerprint(sent: string): string {
  // A plus sign in a URL arrives as a blank. Base64 has no blanks, so the blank can only be a plus sign.
  const text = sent.replaceAll(' ', '+');
  if (isFingerprint(text)) return text;
  // The message does not quote the text: it may be a private key pasted by mistake.
  throw malformed("fingerprint must be as ssh-keygen -l prints it: 'SHA256:' and 43 characters of base64.");
}
