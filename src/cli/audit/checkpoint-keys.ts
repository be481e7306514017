import { readFile } from 'node:fs/promises';
import { readConfig } from '../../config.js';
import { findKeyBeside, signerOf } from '../../log/seal/checkpoint-key.js';
import { parseVerifier, type VerifierKey } from '../../log/tree/signed-note.js';
import { UsageError } from '../../operator-error.js';

/** The key that verifies the checkpoints of an account; undefined: their signatures cannot be checked. */
export type KeyOf = (account: string) => VerifierKey | undefined;

/** `given`: a verifier's key or a file that holds one. Without it, the key of the service itself. */
export async function checkpointKeys(given: string | undefined): Promise<KeyOf> {
  if (given !== undefined) {
    const key = await verifierIn(given);
    return () => key;
  }
  const { checkpointKey, databaseUrl, dataDir } = readConfig(process.env);
  const key = checkpointKey ?? (databaseUrl === undefined ? await findKeyBeside(dataDir) : undefined);
  if (key !== undefined) return (account) => signerOf(key, account);
  console.error('the signatures of checkpoints are not checked: set CHECKPOINT_KEY, or give --key');
  return () => undefined;
}

async function verifierIn(given: string): Promise<VerifierKey> {
  const text = given.includes('+') ? given : await readFile(given, 'utf8').catch(() => '');
  const key = parseVerifier(text.trim());
  if (key !== undefined) return key;
  throw new UsageError(`${given} is neither a key as GET /log/key answers it nor a file that holds one`);
}
