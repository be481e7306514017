import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';

/**
 * Signed notes of c2sp.org/signed-note, with Ed25519 keys. A note is a text that ends with a line feed, an empty line,
 * and a line for each signature.
 */

/** A public key that checks notes. `id` has the first 4 bytes of a hash of its name, its kind and the key itself. */
export interface VerifierKey {
  readonly name: string;
  readonly id: Buffer;
  readonly kind: number;
  readonly key: KeyObject;
}

/** A key that signs notes. */
export interface SignerKey extends VerifierKey {
  readonly privateKey: KeyObject;
}

/** The kind of the signatures of the log itself. */
const ED25519 = 1;
/** The kind of the signatures of a witness, which contain a time: see c2sp.org/tlog-cosignature. */
export const COSIGNATURE = 4;

const DER_OF_PUBLIC_KEY = Buffer.from('302a300506032b6570032100', 'hex');
const DER_OF_SEED = Buffer.from('302e020100300506032b657004220420', 'hex');
const SEED_BYTES = 32;

/** Makes the key of a name from 32 secret bytes. */
export function signerKey(name: string, seed: Buffer, kind = ED25519): SignerKey {
  const privateKey = createPrivateKey({ key: Buffer.concat([DER_OF_SEED, seed]), format: 'der', type: 'pkcs8' });
  return { ...verifierKey(name, rawPublicKey(createPublicKey(privateKey)), kind), privateKey };
}

function verifierKey(name: string, raw: Buffer, kind: number): VerifierKey {
  const id = createHash('sha256')
    .update(`${name}\n`)
    .update(Buffer.from([kind]))
    .update(raw)
    .digest()
    .subarray(0, 4);
  const key = createPublicKey({ key: Buffer.concat([DER_OF_PUBLIC_KEY, raw]), format: 'der', type: 'spki' });
  return { name, id, kind, key };
}

/** The same key under another name. Its id changes with the name. */
export const renamed = ({ kind, key }: VerifierKey, name: string): VerifierKey =>
  verifierKey(name, rawPublicKey(key), kind);

const rawPublicKey = (key: KeyObject): Buffer =>
  key.export({ format: 'der', type: 'spki' }).subarray(DER_OF_PUBLIC_KEY.length);

/** The text `name+id+key`, in which verifiers get a key. */
export const verifierText = ({ name, id, kind, key }: VerifierKey): string =>
  `${name}+${id.toString('hex')}+${Buffer.concat([Buffer.from([kind]), rawPublicKey(key)]).toString('base64')}`;

/** Parses such a text. Undefined for any other text, and for a name with control characters. */
export function parseVerifier(text: string): VerifierKey | undefined {
  const { name, id, key } =
    /^(?<name>[^\s+\p{Cc}]+)\+(?<id>[0-9a-f]{8})\+(?<key>[A-Za-z0-9+/]+=*)$/u.exec(text)?.groups ?? {};
  const bytes = Buffer.from(key ?? '', 'base64');
  const kind = bytes[0];
  if (name === undefined || bytes.length !== 1 + SEED_BYTES || (kind !== ED25519 && kind !== COSIGNATURE))
    return undefined;
  const parsed = verifierKey(name, bytes.subarray(1), kind);
  return parsed.id.toString('hex') === id ? parsed : undefined;
}

/** The line of a signature, with its line feed. The kind of the key defines the bytes of `signature`. */
const signatureLine = ({ name, id }: VerifierKey, signature: Buffer): string =>
  `\u2014 ${name} ${Buffer.concat([id, signature]).toString('base64')}\n`;

/** The note of a text and its signature. The text ends with a line feed. */
export const signNote = (text: string, key: SignerKey): string =>
  `${text}\n${signatureLine(key, sign(null, Buffer.from(text), key.privateKey))}`;

/**
 * Adds the signature of a witness who has seen this note at this time, in seconds since 1970: see
 * c2sp.org/tlog-cosignature. The result keeps the signature of the log, and leaves out all others.
 */
export function cosignNote(note: string, { name }: VerifierKey, witness: SignerKey, seconds: number): string {
  const end = note.lastIndexOf('\n\n') + 2;
  const ofLog = note
    .slice(end)
    .split('\n')
    .filter((line) => line.startsWith(`\u2014 ${name} `));
  return [
    note.slice(0, end),
    ...ofLog.map((line) => `${line}\n`),
    cosign(note.slice(0, end - 1), witness, seconds),
  ].join('');
}

function cosign(text: string, key: SignerKey, seconds: number): string {
  const signature = sign(null, cosigned(text, seconds), key.privateKey);
  return signatureLine(key, Buffer.concat([timeBytes(seconds), signature]));
}

const cosigned = (text: string, seconds: number | bigint): Buffer =>
  Buffer.from(`cosignature/v1\ntime ${seconds}\n${text}`);

function timeBytes(seconds: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(seconds));
  return bytes;
}

/** A text with the signatures of one or more keys: see c2sp.org/signed-note. */
export interface SignedNote {
  readonly text: string;
  /** Whether this key has signed the note. */
  readonly isSignedBy: (key: VerifierKey) => boolean;
}

const SIGNATURE = /^\u2014 (?<name>[^\s+]+) (?<bytes>[A-Za-z0-9+/]+=*)$/;

/** Parses a signed note. Undefined for any other text. */
export function parseNote(note: string): SignedNote | undefined {
  const end = note.lastIndexOf('\n\n');
  if (end === -1 || !note.endsWith('\n')) return undefined;
  const text = note.slice(0, end + 1);
  const signatures = note
    .slice(end + 2, -1)
    .split('\n')
    .map((line) => SIGNATURE.exec(line)?.groups);
  const isSignedBy = (key: VerifierKey): boolean =>
    signatures.some(
      (found) => found?.name === key.name && isSignature(Buffer.from(found.bytes ?? '', 'base64'), text, key),
    );
  return signatures.every((found) => found !== undefined) ? { text, isSignedBy } : undefined;
}

function isSignature(bytes: Buffer, text: string, { id, kind, key }: VerifierKey): boolean {
  if (!bytes.subarray(0, 4).equals(id)) return false;
  if (kind === ED25519) return verify(null, Buffer.from(text), key, bytes.subarray(4));
  if (bytes.length < 12) return false;
  return verify(null, cosigned(text, bytes.readBigUInt64BE(4)), key, bytes.subarray(12));
}
