import { readFile } from 'node:fs/promises';
import { accountOf, type KeptCheckpoint, parseSignedCheckpoint } from '../../event-log/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { UsageError } from '../../kernel/operator-error.js';
import type { CheckpointKeys } from '../checkpoint-keys.js';
import { tell } from '../print.js';

/** Reads the checkpoints in files, smallest first. Throws UsageError for a file that holds none. */
export async function readKept(files: readonly string[], keys: CheckpointKeys): Promise<readonly KeptCheckpoint[]> {
  const kept = await Promise.all(files.map((file) => readOne(file, keys)));
  for (const { file, size, origin } of kept) {
    tell(`the log of ${origin} is held to the checkpoint of ${size} events in ${file}`);
  }
  return kept.toSorted((a, b) => a.size - b.size);
}

async function readOne(file: string, keys: CheckpointKeys): Promise<KeptCheckpoint> {
  const text = await readFile(file, 'utf8').catch((error: unknown) => {
    throw new UsageError(`the checkpoint cannot be read: ${messageOf(error)}`);
  });
  const note = parseSignedCheckpoint(text);
  if (note === undefined) {
    throw new UsageError(`${file} holds no checkpoint as GET /log/checkpoint answers it or audit witness keeps it`);
  }
  const { checkpoint } = note;
  return { ...checkpoint, file, isSigned: keys.haveSigned(note, checkpoint, accountOf(checkpoint)) };
}
