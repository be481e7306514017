import { readFile } from 'node:fs/promises';
import { readConfig } from '../../config.js';
import { findKeyBeside, signerOf } from '../../log/seal/checkpoint-key.js';
import { parseVerifier, type VerifierKey } from '../../log/tree/signed-note.js';
import { UsageError } from '../../operator-error.js';

/** The keys that may have signed the checkpoints of an account; none: their signatures are not checked. */
export type KeysOf = (account: string) => readonly VerifierKey[];

/** The service's own key, and those that are given, each as a verifier's key or the file of one. */
export async function checkpointKeys(given: readonly string[]): Promise<KeysOf> {
  const earlier = await Promise.all(given.map(verifierIn));
  const { checkpointKey, databaseUrl, dataDir } = readConfig(process.env);
  const key = checkpointKey ?? (databaseUrl === undefined ? await findKeyBeside(dataDir) : undefined);
  if (key === undefined && given.length === 0) {
    console.error('the signatures of checkpoints are not checked: set CHECKPOINT_KEY, or give --key');
  }
  return (account) => [
    ...earlier.filter(({ name }) => name.endsWith(`/${account}`)),
    ...(key === undefined ? [] : [signerOf(key, account)]),
  ];
}

/** A public key that is given as itself or as its file. */
export async function verifierIn(given: string): Promise<VerifierKey> {
  const text = given.includes('+') ? given : await readFile(given, 'utf8').catch(() => '');
  const key = parseVerifier(text.trim());
  if (key !== undefined) return key;
  throw new UsageError(`${given} is neither a key as GET /log/key answers it nor a file that holds one`);
}
