import { HASH_BYTES } from './merkle-tree.js';
import { parseNote, type SignedNote } from './signed-note.js';

/** The size and root of a tree, which a signed note contains: see c2sp.org/tlog-checkpoint. */
export interface Checkpoint {
  /** Names the log. */
  readonly origin: string;
  /** Number of leaves. */
  readonly size: number;
  readonly root: Buffer;
}

export const checkpointText = ({ origin, size, root }: Checkpoint): string =>
  `${origin}\n${size}\n${root.toString('base64')}\n`;

const CHECKPOINT = /^(?<origin>\P{Cc}+)\n(?<size>0|[1-9]\d{0,15})\n(?<root>[A-Za-z0-9+/]{43}=)\n/u;

/**
 * Parses a checkpoint, and ignores further lines, as the format demands. Undefined for any other text, and for an
 * origin with control characters.
 */
export function parseCheckpoint(text: string): Checkpoint | undefined {
  const { origin, size, root } = CHECKPOINT.exec(text)?.groups ?? {};
  if (origin === undefined || size === undefined || root === undefined) return undefined;
  const checkpoint = { origin, size: Number(size), root: Buffer.from(root, 'base64') };
  return Number.isSafeInteger(checkpoint.size) && checkpoint.root.length === HASH_BYTES ? checkpoint : undefined;
}

/** Parses a signed note that contains a checkpoint. Undefined for any other text. */
export function parseSignedCheckpoint(note: string): (SignedNote & { readonly checkpoint: Checkpoint }) | undefined {
  const parsed = parseNote(note);
  const checkpoint = parsed && parseCheckpoint(parsed.text);
  return parsed && checkpoint && { ...parsed, checkpoint };
}

/** The proof that a leaf is in the tree of a signed checkpoint, which is `note`: see c2sp.org/tlog-proof. */
export const proofText = (index: number, proof: readonly Buffer[], note: string): string =>
  ['c2sp.org/tlog-proof@v1', `index ${index}`, ...proof.map((hash) => hash.toString('base64')), '', note].join('\n');
