import sshpk from 'sshpk';
import { fingerprintOf } from '../../kernel/fingerprint.js';
import { Problem } from '../../kernel/problem.js';
import { holdsPrivateNumbers } from './private-numbers.js';
import { keyInBlob } from './public-key-blob.js';
import { wireFormOf } from './public-key-text.js';
import { isFingerprint, type KeyType, MAX_PUBLIC_KEY_BYTES, PRIVATE_KEY_SENTENCE, refusal } from './public-key-type.js';

/** A valid public key, read to its last byte. The caller keeps the uploaded text. */
export interface PublicKey {
  readonly type: KeyType;
  readonly bits: number;
  /** RFC 4253 wire form, the same for every text form of the key. */
  readonly blob: Buffer;
  /** `SHA256:` and unpadded base64, as `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

/** The keys that a deployment accepts. The operator can make it stricter. */
export interface KeyPolicy {
  /** Minimum size of an RSA key, in bits. */
  readonly minRsaBits: number;
  /** Fingerprints of keys to refuse, for example keys that were published or made by a broken generator. */
  readonly deniedFingerprints: ReadonlySet<string>;
}

export const DEFAULT_KEY_POLICY: KeyPolicy = { minRsaBits: 2048, deniedFingerprints: new Set() };

/**
 * Reads a public key in any text form: one OpenSSH line, RFC 4716, PEM SPKI or PEM PKCS#1. Any input takes time linear
 * in its length and either gives a key or throws a Problem. No message quotes the text: it may be a secret pasted by
 * mistake.
 */
export function parsePublicKey(text: unknown, policy: KeyPolicy = DEFAULT_KEY_POLICY): PublicKey {
  const { declaredType, blob, comment } = wireFormOf(presentText(text));
  const { type, bits } = keyInBlob(blob);
  if (holdsPrivateNumbers(comment)) throw refusal(PRIVATE_KEY_SENTENCE);
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
    throw refusal(`public_key is ${sizeBytes} bytes long; the maximum is ${MAX_PUBLIC_KEY_BYTES}.`);
  }
  if (text.trim() === '') throw missing();
  return text;
}

const missing = () =>
  new Problem('public_key_missing', 'public_key is missing; send the text of an SSH public key, such as a .pub file.');

function enforce(policy: KeyPolicy, { type, bits, fingerprint }: PublicKey): void {
  if (type === 'ssh-rsa' && bits < policy.minRsaBits) {
    throw refusal(
      `public_key is an RSA key of ${bits} bits; the minimum is ${policy.minRsaBits}. \`ssh-keygen -t ed25519\` makes a better one.`,
    );
  }
  if (policy.deniedFingerprints.has(fingerprint)) {
    throw refusal('public_key is on the list of keys this service never accepts; make a new pair.');
  }
}

/**
 * Compares the result with a second, foreign parser. sshpk gets only the canonical wire form, because its detection of
 * formats can take minutes on uploaded text, and accepts private keys, trailing bytes and points off the curve.
 */
function confirmWithSshpk({ type, bits, blob }: PublicKey): void {
  // sshpk does not support FIDO keys.
  if (type.startsWith('sk-')) return;
  let isSame = false;
  try {
    const other = sshpk.parseKey(blob, 'rfc4253');
    isSame = other.size === bits && other.toBuffer('rfc4253').equals(blob);
  } catch {
    // It is refused below. The message of sshpk would not help the caller.
  }
  if (!isSame) throw refusal('public_key could not be read the same way by two parsers; make a new key.');
}

/** `256 SHA256:... comment (ED25519)`, as `ssh-keygen -l` prints it. */
const KEYGEN_LINE = /^\d+[ \t]+(\S+)[ \t]/;

/**
 * Reads one SHA256 fingerprint or one line of `ssh-keygen -l` per line; blank lines and comments after `#` are skipped.
 * The Error names the line.
 */
export function parseDeniedFingerprints(text: string): ReadonlySet<string> {
  const fingerprints = new Set<string>();
  for (const [i, line] of text.split(/\r\n|\r|\n/).entries()) {
    const [entry = ''] = line.split('#', 1);
    if (entry.trim() === '') continue;
    const fingerprint = KEYGEN_LINE.exec(`${entry.trim()} `)?.[1] ?? entry.trim();
    if (!isFingerprint(fingerprint)) {
      throw new Error(
        `line ${i + 1} of the denied keys has no fingerprint such as SHA256:...; \`ssh-keygen -lf\` prints that of a key`,
      );
    }
    fingerprints.add(fingerprint);
  }
  return fingerprints;
}
