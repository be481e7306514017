import { checkpointText, parseSignedCheckpoint } from '../tree/checkpoint.js';
import { EMPTY_ROOT } from '../tree/merkle-tree.js';
import { signNote } from '../tree/signed-note.js';
import { GrowingTree } from '../tree/tiles.js';
import { type CheckpointKey, originOf, signerOf } from './checkpoint-key.js';
import { type LogState, type SealedLogs, TilesDamaged } from './sealed-logs.js';

/** Events that one checkpoint adds; a long log that was never sealed gets several. */
const MAX_EVENTS = 10_000;

/**
 * Extends the tree of a log to its newest event and signs what it is then. Stops early, after a checkpoint, if the signal
 * says so. Resolves with the size up to which this instance knows the log to be sealed. Throws if events are missing, and
 * TilesDamaged if the tiles are not those that were signed.
 */
export async function seal(
  logs: SealedLogs,
  key: CheckpointKey,
  { accountId, size, sealed }: LogState,
  signal?: AbortSignal,
): Promise<number> {
  const last = await logs.lastCheckpoint(accountId);
  // The other instance goes on from its own checkpoint.
  if ((last?.size ?? 0) !== sealed) return sealed;
  let root = last === undefined ? EMPTY_ROOT : parseSignedCheckpoint(last.note)?.checkpoint.root;
  for (let from = sealed; from < size; from += MAX_EVENTS) {
    if (signal?.aborted) return from;
    const to = Math.min(from + MAX_EVENTS, size);
    const [edge, leaves] = await Promise.all([logs.edge(accountId, from), logs.leaves(accountId, from, to)]);
    if (leaves.length !== to - from) throw new Error(`events of the positions ${from + 1} to ${to} are missing`);
    const tree = new GrowingTree(from, edge);
    if (root?.equals(tree.root()) !== true) {
      throw new TilesDamaged(`the stored tiles do not make its checkpoint of ${from} events`);
    }
    for (const leaf of leaves) tree.add(leaf);
    root = tree.root();
    const text = checkpointText({ origin: originOf(key, accountId), size: to, root });
    const checkpoint = { size: to, note: signNote(text, signerOf(key, accountId)) };
    if (!(await logs.seal(accountId, checkpoint, from, tree.takeChanged()))) return from;
  }
  return size;
}
