import { createHash } from 'node:crypto';
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
import { OperatorError } from '../../kernel/operator-error.js';
import { KEY_TYPES_BUT_RSA } from './algorithms.js';

export interface HostKey {
  readonly key: ParsedKey;
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

/** For clients without Ed25519, such as those of FIPS: the name of the file beside that of the Ed25519 key. */
const ECDSA_FILE = '_ecdsa';

/**
 * Reads the host keys, and makes those that have no file: an Ed25519 key, and an ECDSA key beside it. `warn` is told if the
 * second one cannot be made or read. A file with an ECDSA key is the only one. Throws OperatorError.
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
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64');
  return { key, fingerprint: `SHA256:${digest.replace(/=+$/, '')}` };
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
 * The file appears with its whole content: a start that is killed meanwhile leaves no half of a key. A link replaces
 * nothing, so of two first starts one makes the file, and an existing key stays.
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
 * In OpenSSH's form. One of 256 Ed25519 keys of the library lacks a zero byte, so that no program can read it: make
 * another one then. Tests take their keys from here too.
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
 * A key that others can read is no secret. The group may read the file of another user: a Secret of Kubernetes is root's. And
 * Kubernetes opens the files of a volume to the group of fsGroup, so those of this user are closed again.
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
  if (key === undefined || key instanceof Error) throw unusable(file, 'holds no private key without a passphrase');
  if (!key.isPrivateKey()) throw unusable(file, 'holds a public key; name the file of the private one');
  if (!KEY_TYPES_BUT_RSA.includes(key.type)) throw unusable(file, `is ${key.type}; make one by: ssh-keygen -t ed25519`);
  return key;
}

const isSystemError = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const unusable = (file: string, problem: string): OperatorError =>
  new OperatorError(`GATEWAY_HOST_KEY '${file}' ${problem}`);
