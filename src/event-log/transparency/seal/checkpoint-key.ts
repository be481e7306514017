import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, readFile, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { CHECKPOINT_KEY_FILE } from '../../../database/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { OperatorError } from '../../../kernel/operator-error.js';
import { type Checkpoint, parseSignedCheckpoint } from '../tree/checkpoint.js';
import { type SignerKey, signerKey } from '../tree/signed-note.js';

/** The secret that signs checkpoints, and the name by which verifiers know this deployment. */
export interface CheckpointKey {
  /** A URL without its scheme, such as `tunnels.example.com`. */
  readonly name: string;
  readonly seed: Buffer;
}

/** The origin of an account's checkpoints, which also names the key in them. */
export const originOf = ({ name }: CheckpointKey, accountId: string): string => `${name}/${accountId}`;

/** The key that signs the log of one account, made of the key of the deployment. */
export const signerOf = (key: CheckpointKey, accountId: string): SignerKey =>
  signerKey(originOf(key, accountId), key.seed);

/**
 * A name has no blank and no plus (c2sp.org/signed-note), and no control character, because terminals of verifiers show
 * it.
 */
const KEY = /^PRIVATE\+KEY\+(?<name>[^\s+\p{Cc}]{1,200})\+(?<seed>[A-Za-z0-9+/]{43}=)$/u;

/** The text of a key, in the form of CHECKPOINT_KEY. */
export const keyText = ({ name, seed }: CheckpointKey): string => `PRIVATE+KEY+${name}+${seed.toString('base64')}`;

/** Makes a random key with this name. */
export const newCheckpointKey = (name: string): CheckpointKey => ({ name, seed: randomBytes(32) });

/** The text of a new random key with this name, in the form of CHECKPOINT_KEY. */
export const newKeyText = (name: string): string => keyText(newCheckpointKey(name));

/** The keys of a deployment, oldest first. The last one signs. Signatures of earlier ones stay valid. */
export class KeyHistory {
  constructor(
    readonly signing: CheckpointKey,
    private readonly earlier: readonly CheckpointKey[] = [],
  ) {}

  get known(): readonly CheckpointKey[] {
    return [...this.earlier, this.signing];
  }

  /** The keys that sign, or have signed, the log of an account. Oldest first. */
  signersOf(accountId: string): readonly SignerKey[] {
    return this.known.map((key) => signerOf(key, accountId));
  }

  /** The checkpoint in an account's note. Undefined if none of the keys has signed the note. */
  signedIn(note: string, accountId: string): Checkpoint | undefined {
    const parsed = parseSignedCheckpoint(note);
    if (parsed === undefined) return undefined;
    const named = this.known.filter((key) => originOf(key, accountId) === parsed.checkpoint.origin);
    return named.some((key) => parsed.isSignedBy(signerOf(key, accountId))) ? parsed.checkpoint : undefined;
  }

  /** The name of the key that a note names. Undefined if one of the keys has this name. */
  unknownNameIn(note: string): string | undefined {
    const name = parseSignedCheckpoint(note)?.checkpoint.origin.replace(/\/[^/]*$/, '');
    return this.known.some((key) => key.name === name) ? undefined : name;
  }
}

/** Parses one key. Undefined for any other text. */
function parseKey(text: string): CheckpointKey | undefined {
  const { name, seed } = KEY.exec(text)?.groups ?? {};
  return name === undefined || seed === undefined ? undefined : { name, seed: Buffer.from(seed, 'base64') };
}

/**
 * Parses keys with white space between them, oldest first. `what` begins the message of an error, which quotes no key.
 */
function parseKeys(text: string, what: string): KeyHistory {
  const keys = text
    .trim()
    .split(/\s+/)
    .map((one) => parseKey(one) ?? notAKey(what));
  const names = keys.map(({ name }) => name);
  const twice = names.find((name, i) => names.indexOf(name) !== i);
  if (twice !== undefined) throw new Error(`has two keys with the name ${twice}: each must have a name of its own`);
  const signing = keys.pop() ?? notAKey(what);
  return new KeyHistory(signing, keys);
}

const notAKey = (what: string): never => {
  throw new Error(`${what} as \`tunnel-access audit key NAME\` prints it`);
};

/** Parses CHECKPOINT_KEY: keys, or the path of a file that holds them. Messages quote no key. */
export function parseCheckpointKeys(value: string): KeyHistory {
  if (value.startsWith('PRIVATE+KEY+')) return parseKeys(value, 'is not a key');
  return parseKeys(readKeyFile(value), 'names a file that holds no key');
}

/** The content of a file that a setting names. The message completes the sentence "NAME ...". */
export function readKeyFile(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    throw new Error(`cannot be read: ${messageOf(error)}`);
  }
}

const pathBeside = (dataDir: string): string => join(dataDir, CHECKPOINT_KEY_FILE);

/** Finds the keys in the file beside an embedded database. */
export async function findEmbeddedKeys(dataDir: string): Promise<KeyHistory | undefined> {
  const path = pathBeside(dataDir);
  const found = await readFile(path, 'utf8').catch(ignoreMissing);
  if (found === undefined) return undefined;
  try {
    return parseKeys(found, 'holds no key');
  } catch (error) {
    const way = 'put a copy of it back, or remove the file, and the next start makes another';
    throw new OperatorError(`${path} ${messageOf(error)}: ${way}`);
  }
}

/** Reads the keys in the file beside an embedded database. The first start makes the file, and `isNew` is then true. */
export async function openEmbeddedKeys(dataDir: string): Promise<{ keys: KeyHistory; path: string; isNew: boolean }> {
  const path = pathBeside(dataDir);
  const found = await findEmbeddedKeys(dataDir);
  if (found !== undefined) return { keys: found, path, isNew: false };
  const key = newCheckpointKey(`tunnel-access-${randomBytes(4).toString('hex')}`);
  await writeKey(path, `${keyText(key)}\n`);
  return { keys: new KeyHistory(key), path, isNew: true };
}

/** Writes the whole file or none of it, even if the power fails. The service could not start with half a key. */
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
