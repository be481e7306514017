import { hash } from 'node:crypto';

/**
 * The Merkle tree of RFC 6962 over the leaf hashes of a log. Indexes begin with 0, so the event at position N is the
 * leaf N - 1. Hashes are SHA-256.
 */

/** The hash of a subtree of 2^level leaves; `index` counts the subtrees of this level from the left. */
export interface TreeNode {
  readonly level: number;
  readonly index: number;
}

/** A range of leaves: from `from` up to `to`, which is not included. */
export interface LeafRange {
  readonly from: number;
  readonly to: number;
}

const nodeHash = (left: Buffer, right: Buffer): Buffer => parentsOf(Buffer.concat([left, right]));

/**
 * The hashes of nodes, one after the other, from the hashes of their children. Each hash comes as a string, because
 * Node.js takes twice as long to make a buffer of it.
 */
export function parentsOf(children: Buffer): Buffer {
  const parents = Buffer.alloc(children.length / 2);
  for (let at = 0; at < parents.length; at += HASH_BYTES) {
    children.copy(NODE, 1, 2 * at, 2 * (at + HASH_BYTES));
    parents.write(hash('sha256', NODE, 'binary'), at, 'binary');
  }
  return parents;
}
/** The length of a SHA-256. */
export const HASH_BYTES = 32;
/** The bytes that a node is the hash of: a mark, and the hashes of its children. */
const NODE = Buffer.alloc(1 + 2 * HASH_BYTES, 1);

/** The root of a tree without leaves. */
export const EMPTY_ROOT = hash('sha256', '', 'buffer');

/**
 * Splits a range of two or more leaves into its two subtrees. The left one has the largest power of 2 below the whole.
 */
function halvesOf({ from, to }: LeafRange): readonly [left: LeafRange, right: LeafRange] {
  let split = 1;
  while (split * 2 < to - from) split *= 2;
  const middle = from + split;
  return [
    { from, to: middle },
    { from: middle, to },
  ];
}

/** The complete subtrees whose hashes make the hash of a range, from left to right. */
export function nodesOf({ from, to }: LeafRange): TreeNode[] {
  const size = to - from;
  if (size === 0) return [];
  const level = Math.log2(size);
  if (Number.isInteger(level)) return [{ level, index: from / size }];
  const [left, right] = halvesOf({ from, to });
  return [...nodesOf(left), ...nodesOf(right)];
}

/** The hash of a range, from the hashes of its complete subtrees. */
export function foldNodes(hashes: readonly Buffer[]): Buffer {
  const [last, ...before] = hashes.toReversed();
  return before.reduce((right, left) => nodeHash(left, right), last ?? EMPTY_ROOT);
}

/**
 * The ranges whose hashes prove that a leaf is in the tree of this size, from the leaf's sibling up (RFC 6962, 2.1.1).
 */
export function inclusionRanges(index: number, range: LeafRange): LeafRange[] {
  if (range.to - range.from <= 1) return [];
  const [left, right] = halvesOf(range);
  return index < right.from ? [...inclusionRanges(index, left), right] : [...inclusionRanges(index, right), left];
}

/** The ranges whose hashes prove that the tree of the older size is the beginning of the newer (RFC 6962, 2.1.2). */
export function consistencyRanges(older: number, newer: number): LeafRange[] {
  return older === 0 || older === newer ? [] : subproof(older, { from: 0, to: newer }, true);
}

/** If `isWhole`, the part of the older tree in this range is the whole older tree, so the verifier knows its hash. */
function subproof(older: number, range: LeafRange, isWhole: boolean): LeafRange[] {
  if (older === range.to) return isWhole ? [] : [range];
  const [left, right] = halvesOf(range);
  return older <= right.from ? [...subproof(older, left, isWhole), right] : [...subproof(older, right, false), left];
}

const areApart = (a: LeafRange, b: LeafRange): boolean => a.to <= b.from || b.to <= a.from;

/**
 * The ranges outside of a part of a tree, from left to right. Their hashes and the leaves of the part make the root.
 */
export function rangesBeside(part: LeafRange, range: LeafRange): LeafRange[] {
  if (areApart(part, range)) return [range];
  if (part.from <= range.from && range.to <= part.to) return [];
  return halvesOf(range).flatMap((half) => rangesBeside(part, half));
}

/** Neighbouring subtrees of a tree, of `width` leaves each; the first one begins at the leaf `from`. */
interface Part {
  readonly from: number;
  readonly width: number;
  readonly hashes: readonly Buffer[];
}

/** The root of a tree of this size, from a part and from the hashes of `rangesBeside` it. */
export function rootAround(size: number, { from, width, hashes }: Part, beside: readonly Buffer[]): Buffer {
  const part = { from, to: from + width * hashes.length };
  const others = beside.values();
  const rootOf = (range: LeafRange): Buffer => {
    if (areApart(part, range)) return others.next().value ?? EMPTY_ROOT;
    if (range.to - range.from <= width) return hashes[(range.from - from) / width] ?? EMPTY_ROOT;
    const [left, right] = halvesOf(range);
    return nodeHash(rootOf(left), rootOf(right));
  };
  return rootOf({ from: 0, to: size });
}

/** The root that a leaf and its proof make. Undefined if the proof, or one of its hashes, has the wrong length. */
export function rootOfInclusion(
  index: number,
  size: number,
  leaf: Buffer,
  proof: readonly Buffer[],
): Buffer | undefined {
  if (index < 0 || index >= size || ![leaf, ...proof].every(isHash)) return undefined;
  const ranges = inclusionRanges(index, { from: 0, to: size });
  if (ranges.length !== proof.length) return undefined;
  return proof.reduce((hash, sibling, i) => {
    const isRight = (ranges[i]?.from ?? 0) > index;
    return isRight ? nodeHash(hash, sibling) : nodeHash(sibling, hash);
  }, leaf);
}

/** Two hashes of other lengths could together give the bytes of another node. */
const isHash = ({ length }: Buffer): boolean => length === HASH_BYTES;

interface Head {
  readonly size: number;
  readonly root: Buffer;
}

/** Whether the proof shows that the newer tree begins with the leaves of the older one. */
export function isConsistent(older: Head, newer: Head, proof: readonly Buffer[]): boolean {
  if (older.size > newer.size || !proof.every(isHash)) return false;
  if (older.size === newer.size) return proof.length === 0 && older.root.equals(newer.root);
  if (older.size === 0) return proof.length === 0;
  const ranges = consistencyRanges(older.size, newer.size);
  if (ranges.length !== proof.length) return false;
  const hashes = new Map(ranges.map(({ from, to }, i) => [`${from}-${to}`, proof[i]]));
  // The whole older tree is one complete subtree of the newer one, which the proof leaves out.
  if (!ranges.some(({ to }) => to === older.size)) hashes.set(`0-${older.size}`, older.root);
  const rootOf = (range: LeafRange): Buffer | undefined => hashes.get(`${range.from}-${range.to}`) ?? split(range);
  const split = (range: LeafRange): Buffer | undefined => {
    if (range.to - range.from <= 1) return undefined;
    const [left, right] = halvesOf(range).map(rootOf);
    return left && right && nodeHash(left, right);
  };
  const olderRoot = rootOf({ from: 0, to: older.size });
  return olderRoot?.equals(older.root) === true && rootOf({ from: 0, to: newer.size })?.equals(newer.root) === true;
}
