import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKPOINT_KEY_FILE } from '../../database/embedded/removal.js';
import { messageOf } from '../../error-message.js';
import { OperatorError } from '../../operator-error.js';
import { type SignerKey, signerKey } from '../tree/signed-note.js';

/** The secret that signs checkpoints, and the name by which verifiers know this deployment. */
export interface CheckpointKey {
  /** A URL without its scheme, such as `tunnels.example.com`. */
  readonly name: string;
  readonly seed: Buffer;
}

/** The origin of an account's checkpoints, which also names the key in them. */
export const originOf = ({ name }: CheckpointKey, accountId: string): string => `${name}/${accountId}`;

export const signerOf = (key: CheckpointKey, accountId: string): SignerKey =>
  signerKey(originOf(key, accountId), key.seed);

/** A name has no blank and no plus: see c2sp.org/signed-note. Nor a control character, as verifiers' terminals show it. */
const KEY = /^PRIVATE\+KEY\+(?<name>[^\s+\p{Cc}]{1,200})\+(?<seed>[A-Za-z0-9+/]{43}=)$/u;

/** The key as CHECKPOINT_KEY takes it. */
export const keyText = ({ name, seed }: CheckpointKey): string => `PRIVATE+KEY+${name}+${seed.toString('base64')}`;

export const newCheckpointKey = (name: string): CheckpointKey => ({ name, seed: randomBytes(32) });

/** Undefined for a text that is not a key. */
function parseKey(text: string): CheckpointKey | undefined {
  const { name, seed } = KEY.exec(text.trim())?.groups ?? {};
  return name === undefined || seed === undefined ? undefined : { name, seed: Buffer.from(seed, 'base64') };
}

/** Parses CHECKPOINT_KEY: a key, or the path of a file that holds one. Messages quote no key. */
export function parseCheckpointKey(value: string): CheckpointKey {
  if (value.startsWith('PRIVATE+KEY+')) return parseKey(value) ?? notAKey('is not a key');
  return parseKey(readKeyFile(value)) ?? notAKey('names a file that holds no key');
}

const notAKey = (what: string): never => {
  throw new Error(`${what} as \`tunnel-access audit key NAME\` prints it`);
};

/** The content of a file that a setting names. The message completes the sentence "NAME ...". */
export function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`cannot be read: ${messageOf(error)}`);
  }
}

const pathBeside = (dataDir: string): string => join(dataDir, CHECKPOINT_KEY_FILE);

/** The key of an embedded database, if it has one. */
export async function findKeyBeside(dataDir: string): Promise<CheckpointKey | undefined> {
  const path = pathBeside(dataDir);
  const found = await readFile(path, 'utf8').catch(ignoreMissing);
  const key = found === undefined ? undefined : parseKey(found);
  if (found === undefined || key !== undefined) return key;
  throw new OperatorError(
    `${path} holds no key: put a copy of it back, or remove the file, and the next start makes another`,
  );
}

/** The key of an embedded database, beside it. Made at the first start; `isNew` tells so. */
export async function keyBeside(dataDir: string): Promise<{ key: CheckpointKey; path: string; isNew: boolean }> {
  const path = pathBeside(dataDir);
  const found = await findKeyBeside(dataDir);
  if (found !== undefined) return { key: found, path, isNew: false };
  const key = newCheckpointKey(`tunnel-access-${randomBytes(4).toString('hex')}`);
  await writeKey(path, `${keyText(key)}\n`);
  return { key, path, isNew: true };
}

/** All of it or nothing, also if the power fails: half a key would keep the service from starting. */
async function writeKey(path: string, text: string): Promise<void> {
  const draft = `${path}.new-${process.pid}`;
  try {
    const file = await open(draft, 'w', 0o600);
    await file.writeFile(text);
    await file.sync();
    await file.close();
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

function ignoreMissing(error: NodeJS.ErrnoException): undefined {
  if (error.code !== 'ENOENT') throw error;
}
