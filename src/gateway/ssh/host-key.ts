import { createHash } from 'node:crypto';
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import ssh2, { type ParsedKey } from 'ssh2';
import { messageOf } from '../../error-message.js';
import { OperatorError } from '../../operator-error.js';
import { KEY_TYPES_BUT_RSA } from './algorithms.js';

export interface HostKey {
  readonly key: ParsedKey;
  /** As `ssh-keygen -l` prints it. */
  readonly fingerprint: string;
}

/** Reads the host key, and makes one if there is no such file. Throws OperatorError. */
export function loadHostKey(file: string): HostKey {
  const key = parse(file, readOrMake(file));
  const digest = createHash('sha256').update(key.getPublicSSH()).digest('base64');
  return { key, fingerprint: `SHA256:${digest.replace(/=+$/, '')}` };
}

function readOrMake(file: string): Buffer {
  try {
    make(file);
  } catch (error) {
    if (!isSystemError(error, 'EEXIST')) throw unusable(file, `cannot be made: ${messageOf(error)}`);
  }
  return read(file);
}

/** `wx`: of two first starts one makes the file, and an existing key is never replaced. */
function make(file: string): void {
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, newKey(), { mode: 0o600, flag: 'wx' });
}

/** One of 256 keys of the library lacks a zero byte, so that no program can read it: make another one then. */
function newKey(): string {
  for (;;) {
    const pair = ssh2.utils.generateKeyPairSync('ed25519', { comment: 'tunnel-access gateway' });
    const keys = [ssh2.utils.parseKey(pair.private), ssh2.utils.parseKey(pair.public)];
    if (!keys.some((key) => key instanceof Error)) return pair.private;
  }
}

function read(file: string): Buffer {
  try {
    // As ssh does: a key that others can read is no secret.
    if ((statSync(file).mode & 0o077) !== 0) throw new Error(`others can read it; run: chmod 600 ${file}`);
    return readFileSync(file);
  } catch (error) {
    throw unusable(file, `cannot be used: ${messageOf(error)}`);
  }
}

function parse(file: string, text: Buffer): ParsedKey {
  const parsed: ParsedKey | Error | ParsedKey[] = ssh2.utils.parseKey(text);
  const key = Array.isArray(parsed) ? parsed[0] : parsed;
  if (key === undefined || key instanceof Error) throw unusable(file, 'holds no private key without a passphrase');
  if (!key.isPrivateKey()) throw unusable(file, 'holds a public key; name the file of the private one');
  if (!KEY_TYPES_BUT_RSA.includes(key.type)) throw unusable(file, `is ${key.type}; make one by: ssh-keygen -t ed25519`);
  return key;
}

const isSystemError = (error: unknown, code: string): boolean =>
  error instanceof Error && 'code' in error && error.code === code;

const unusable = (file: string, problem: string): OperatorError =>
  new OperatorError(`GATEWAY_HOST_KEY '${file}' ${problem}`);
