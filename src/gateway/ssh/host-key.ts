import { createPrivateKey, sign } from 'node:crypto';
import {
  chmodSync,
  closeSync,
  fsyncSync,
  linkSync,
  mkdirSync,
  openSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname } from 'node:path';
import ssh2, { type ParsedKey } from 'ssh2';
import { messageOf } from '../../kernel/error-message.js';
import { fingerprintOf } from '../../kernel/fingerprint.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { KEY_TYPES_BUT_RSA } from './algorithms.js';

export interface HostKey {
  readonly key: ParsedKey;
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
  /** As a file `known_hosts` has it after the name of the host, without a comment. */
  readonly line: string;
}

/** The ending of the file with a second key, for clients without Ed25519, such as those in FIPS mode. */
const ECDSA_FILE = '_ecdsa';

/**
 * Reads the host keys, or throws OperatorError: an Ed25519 key and, in a file beside it, an ECDSA key. It makes each
 * key that has no file, and calls `warn` if the second one cannot be used. If the first file holds an ECDSA key, that
 * is the only one.
 */
export function loadHostKeys(file: string, warn: (message: string) => void): readonly [HostKey, ...HostKey[]] {
  const first = load(file, 'ed25519');
  if (first.key.type !== 'ssh-ed25519') return [first];
  try {
    return [first, load(`${file}${ECDSA_FILE}`, 'ecdsa')];
  } catch (error) {
    if (!(error instanceof OperatorError)) throw error;
    warn(`clients without Ed25519 are not served: ${error.message}`);
    return [first];
  }
}

function load(file: string, type: KeyType): HostKey {
  const key = parse(file, readOrMake(file, type));
  const blob = key.getPublicSSH();
  return { key: readOnce(key), fingerprint: fingerprintOf(blob), line: `${key.type} ${blob.toString('base64')}` };
}

/** The hash that a key signs with. RFC 5656, section 6.2.1; an Ed25519 key has its own. */
const HASHES: Readonly<Record<string, string>> = {
  'ecdsa-sha2-nistp256': 'sha256',
  'ecdsa-sha2-nistp384': 'sha384',
  'ecdsa-sha2-nistp521': 'sha512',
};

/** The same key, which is read once. The library reads its text for each signature, most of the work of a signature. */
function readOnce(key: ParsedKey): ParsedKey {
  const privateKey = createPrivateKey(key.getPrivatePEM());
  const hash = HASHES[key.type] ?? null;
  return Object.create(key, { sign: { value: (data: Buffer) => sign(hash, data, privateKey) } });
}

type KeyType = 'ed25519' | 'ecdsa';

function readOrMake(file: string, type: KeyType): Buffer {
  try {
    make(file, type);
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw unusable(file, `cannot be made: ${messageOf(error)}`);
  }
  return read(file);
}

/**
 * The file appears with its whole content, so a start that is killed leaves no half of a key. It gets its name by a
 * link, which replaces nothing: an existing key stays, and of two starts at once only one makes the file.
 */
function make(file: string, type: KeyType): void {
  if (statSync(file, { throwIfNoEntry: false }) !== undefined) return;
  mkdirSync(dirname(file), { recursive: true });
  const unfinished = `${file}.${process.pid}.new`;
  try {
    const opened = openSync(unfinished, 'w', 0o600);
    writeFileSync(opened, newPrivateKey(type));
    fsyncSync(opened);
    closeSync(opened);
    linkSync(unfinished, file);
  } finally {
    rmSync(unfinished, { force: true });
  }
}

/**
 * A new private key in OpenSSH's format. One of 256 Ed25519 keys that the library makes lacks a zero byte, so that no
 * program can read it. Then this makes another one.
 */
export function newPrivateKey(type: KeyType): string {
  const comment = 'tunnel-access gateway';
  for (;;) {
    const { generateKeyPairSync } = ssh2.utils;
    const pair =
      type === 'ed25519' ? generateKeyPairSync(type, { comment }) : generateKeyPairSync(type, { bits: 256, comment });
    const keys = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
    if (!keys.some((key) => key instanceof Error)) return pair.private;
  }
}

function read(file: string): Buffer {
  try {
    closeToOthers(file);
    return readFileSync(file);
  } catch (error) {
    throw unusable(file, `cannot be used: ${messageOf(error)}`);
  }
}

const [OTHERS, GROUP] = [0o007, 0o070];

/**
 * Refuses a key that all users can read. The group may read a file of another user, as with a Secret of Kubernetes,
 * which root owns. For a file of this user it takes the right away from the group, since Kubernetes gives it to the
 * group fsGroup.
 */
function closeToOthers(file: string): void {
  const { mode, uid } = statSync(file);
  if ((mode & OTHERS) !== 0) throw new Error(`others can read it; run: chmod 600 ${file}`);
  if ((mode & GROUP) !== 0 && uid === process.getuid?.()) chmodSync(file, 0o600);
}

function parse(file: string, text: Buffer): ParsedKey {
  const parsed: ParsedKey | Error | ParsedKey[] = ssh2.utils.parseKey(text);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  if (text.length === 0) throw unusable(file, 'is empty; remove it, and the next start makes a key');
  if (key === undefined || key instanceof Error)
    throw unusable(file, 'holds no private key that can be read without a passphrase');
  if (!key.isPrivateKey()) throw unusable(file, 'holds a public key; name the file of the private one');
  if (!KEY_TYPES_BUT_RSA.includes(key.type))
    throw unusable(file, `is a key of type ${key.type}, which cannot be used; make another one: ssh-keygen -t ed25519`);
  return key;
}

const isSystemError = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const unusable = (file: string, problem: string): OperatorError =>
  new OperatorError(`GATEWAY_HOST_KEY '${file}' ${problem}`);
