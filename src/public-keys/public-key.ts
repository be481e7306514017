import { createHash } from 'node:crypto';
import sshpk from 'sshpk';
import { Problem } from '../problem.js';
import { keyInBlob } from './public-key-blob.js';
import { wireFormOf } from './public-key-text.js';
import { type KeyType, refusal } from './public-key-type.js';

export type { KeyType } from './public-key-type.js';

/** A public key that was read to its last byte and found fit for use; the uploaded text stays with the caller. */
export interface PublicKey {
  readonly type: KeyType;
  readonly bits: number;
  /** RFC 4253 wire form, the same for every text form of the key. */
  readonly blob: Buffer;
  /** `SHA256:` and unpadded base64, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

/** What an operator may tighten. */
export interface KeyPolicy {
  readonly minRsaBits: number;
  /** Fingerprints refused outright, such as keys that were published or made by a broken generator. */
  readonly deniedFingerprints: ReadonlySet<string>;
}

export const DEFAULT_KEY_POLICY: KeyPolicy = { minRsaBits: 2048, deniedFingerprints: new Set() };

/** An RSA key at the limit of 16384 bits with a long comment takes a quarter of this. */
export const MAX_PUBLIC_KEY_BYTES = 16_384;

/**
 * Reads a public key in any of its text forms: one OpenSSH line, RFC 4716, PEM SPKI, PEM PKCS#1.
 * Throws a Problem and nothing else, whatever it is given, in time linear in the text; no message quotes the text,
 * which may be a secret pasted by mistake.
 */
export function parsePublicKey(text: unknown, policy: KeyPolicy = DEFAULT_KEY_POLICY): PublicKey {
  const { declaredType, blob } = wireFormOf(presentText(text));
  const { type, bits } = keyInBlob(blob);
  if (declaredType !== undefined && declaredType !== type) {
    throw refusal(`public_key says it is ${declaredType}, but its base64 holds ${type}; copy it again.`);
  }
  const key = { type, bits, blob, fingerprint: fingerprintOf(blob) };
  enforce(policy, key);
  confirmWithSshpk(key);
  return key;
}

function presentText(text: unknown): string {
  if (text === undefined || text === null) throw missing();
  if (typeof text !== 'string') throw refusal('public_key is not a string; send the text of the key.');
  const sizeBytes = Buffer.byteLength(text);
  if (sizeBytes > MAX_PUBLIC_KEY_BYTES) {
    throw refusal(`public_key is ${sizeBytes} bytes long; the most is ${MAX_PUBLIC_KEY_BYTES}.`);
  }
  if (text.trim() === '') throw missing();
  return text;
}

const missing = () =>
  new Problem('public_key_missing', 'public_key is missing; send the text of an SSH public key, such as a .pub file.');

const fingerprintOf = (blob: Buffer): string =>
  `SHA256:${createHash('sha256').update(blob).digest('base64').replace('=', '')}`;

function enforce(policy: KeyPolicy, { type, bits, fingerprint }: PublicKey): void {
  if (type === 'ssh-rsa' && bits < policy.minRsaBits) {
    throw refusal(
      `public_key is an RSA key of ${bits} bits; the least is ${policy.minRsaBits}. \`ssh-keygen -t ed25519\` makes a better one.`,
    );
  }
  if (policy.deniedFingerprints.has(fingerprint)) {
    throw refusal('public_key is on the list of keys this service never accepts; make a new pair.');
  }
}

/**
 * A second opinion from code that is not ours. sshpk only ever sees the canonical wire form: on request text its
 * format detection takes seconds to minutes, and it accepts private keys, trailing bytes and points off the curve.
 */
function confirmWithSshpk({ type, bits, blob, fingerprint }: PublicKey): void {
  // sshpk knows no FIDO keys.
  if (type.startsWith('sk-')) return;
  let isSame = false;
  try {
    const other = sshpk.parseKey(blob, 'rfc4253');
    isSame = other.size === bits && other.fingerprint('sha256').toString() === fingerprint;
  } catch {
    // Refused below: why sshpk could not read it is of no use to the caller.
  }
  if (!isSame) throw refusal('public_key could not be read the same way by two parsers; make a new key.');
}

/** `type base64(blob)`: the only form a gateway is ever given, so that nothing uploaded can reach its configuration. */
export function toAuthorizedKey(key: Pick<PublicKey, 'type' | 'blob'>): string {
  return `${key.type} ${key.blob.toString('base64')}`;
}

/** 32 bytes in base64 without padding; any other last character would stand for bits that no hash has. */
const FINGERPRINT = /^SHA256:[A-Za-z0-9+/]{42}[AEIMQUYcgkosw048]$/;

/** Whether `text` is a fingerprint as `ssh-keygen -l` prints it, and no other spelling of one. */
export const isFingerprint = (text: string): boolean => FINGERPRINT.test(text);

/** One SHA256 fingerprint a line; blank lines and whatever follows a `#` are skipped. Throws an Error naming the line. */
export function parseDeniedFingerprints(text: string): ReadonlySet<string> {
  const fingerprints = new Set<string>();
  for (const [i, line] of text.split(/\r\n|\r|\n/).entries()) {
    const [entry = ''] = line.split('#', 1);
    if (entry.trim() === '') continue;
    if (!isFingerprint(entry.trim())) {
      throw new Error(`line ${i + 1} of the denied keys is not a fingerprint as ssh-keygen -l prints it (SHA256:...)`);
    }
    fingerprints.add(entry.trim());
  }
  return fingerprints;
}
