import { checkpointText } from '../tree/checkpoint.js';
import { EMPTY_ROOT } from '../tree/merkle-tree.js';
import { signNote } from '../tree/signed-note.js';
import { GrowingTree } from '../tree/tiles.js';
import { type KeyHistory, originOf, signerOf } from './checkpoint-key.js';
import { type LogState, type SealedLogs, type StoredCheckpoint, TilesDamaged } from './sealed-logs.js';

/** The most events that one checkpoint adds. A long log that was never sealed gets several checkpoints. */
const MAX_EVENTS = 10_000;

/**
 * A key that this instance does not know has signed the last checkpoint. While the key of a deployment changes, this
 * stops instances with the old keys.
 */
export class UnknownKey extends Error {}

/**
 * Extends the tree of a log to its newest event and signs the new root. Resolves with the sealed size, which is smaller
 * if the signal aborts. Throws UnknownKey, TilesDamaged if the tiles do not match the last checkpoint, or an Error if
 * its signature is wrong or events are missing.
 */
export async function seal(
  logs: SealedLogs,
  keys: KeyHistory,
  { accountId, size, sealed }: LogState,
  signal?: AbortSignal,
): Promise<number> {
  const last = await logs.lastCheckpoint(accountId);
  // Another instance has sealed more, and goes on from its own checkpoint.
  if ((last?.size ?? 0) !== sealed) return sealed;
  let root = last === undefined ? EMPTY_ROOT : rootOf(last, keys, accountId);
  for (let from = sealed; from < size; from += MAX_EVENTS) {
    if (signal?.aborted) return from;
    const to = Math.min(from + MAX_EVENTS, size);
    const [edge, leaves] = await Promise.all([logs.edge(accountId, from), logs.leaves(accountId, from, to)]);
    if (leaves.length !== to - from) throw new Error(`events of the positions ${from + 1} to ${to} are missing`);
    const tree = new GrowingTree(from, edge);
    if (!root.equals(tree.root())) {
      throw new TilesDamaged(`the stored tiles do not make its checkpoint of ${from} events`);
    }
    for (const leaf of leaves) tree.add(leaf);
    root = tree.root();
    const text = checkpointText({ origin: originOf(keys.signing, accountId), size: to, root });
    const checkpoint = { size: to, note: signNote(text, signerOf(keys.signing, accountId)) };
    if (!(await logs.seal(accountId, checkpoint, from, tree.takeChanged()))) return from;
  }
  return size;
}

function rootOf({ size, note }: StoredCheckpoint, keys: KeyHistory, accountId: string): Buffer {
  const signed = keys.signedIn(note, accountId);
  if (signed?.size === size) return signed.root;
  const name = keys.unknownNameIn(note);
  if (name === undefined) throw new Error(`its checkpoint of ${size} events has a wrong signature`);
  throw new UnknownKey(
    `the newest checkpoints are signed by the key ${name}, which this instance does not know: it signs no more of these logs. Add the key to CHECKPOINT_KEY and start it again`,
  );
}
