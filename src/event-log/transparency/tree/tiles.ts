import { foldNodes, HASH_BYTES, type LeafRange, parentsOf, type TreeNode } from './merkle-tree.js';

/** A tile holds the hashes of up to 256 neighbouring subtrees of 256^level leaves: see c2sp.org/tlog-tiles. */
export interface TileName {
  readonly level: number;
  readonly index: number;
}

/** A tile as it is stored: its hashes, one after the other. */
export interface StoredTile extends TileName {
  readonly hashes: Buffer;
}

const HEIGHT = 8;
/** The number of hashes in a full tile: see c2sp.org/tlog-tiles. */
export const TILE_WIDTH = 2 ** HEIGHT;

/** A tile, and the range of its entries that make a node. */
interface TileSpan extends TileName {
  readonly from: number;
  readonly to: number;
}

/** The tile and the entries that make the hash of a subtree. */
export function spanOf({ level, index }: TreeNode): TileSpan {
  const tileLevel = Math.floor(level / HEIGHT);
  const width = 2 ** (level - tileLevel * HEIGHT);
  const first = index * width;
  const from = first % TILE_WIDTH;
  return { level: tileLevel, index: Math.floor(first / TILE_WIDTH), from, to: from + width };
}

/** The hash of the subtree that these entries of a tile make. The number of entries is a power of 2. */
export function hashOfEntries(tile: Buffer, { from, to }: Pick<TileSpan, 'from' | 'to'>): Buffer {
  let hashes = tile.subarray(from * HASH_BYTES, to * HASH_BYTES);
  while (hashes.length > HASH_BYTES) hashes = parentsOf(hashes);
  return hashes;
}

/** The number of entries that the tile has in a tree of this size: 0 to 256. */
export const widthIn = (size: number, { level, index }: TileName): number =>
  Math.max(0, Math.min(TILE_WIDTH, Math.floor(size / TILE_WIDTH ** level) - index * TILE_WIDTH));

/** The leaves under the first hashes of a tile. In the result, `width` is the number of leaves under each hash. */
export function leavesUnder(tile: TileName & { readonly width: number }): LeafRange & { readonly width: number } {
  const width = TILE_WIDTH ** tile.level;
  const from = tile.index * TILE_WIDTH * width;
  return { from, to: from + tile.width * width, width };
}

/** The tile that gets the next hash of this level in a tree of this size. */
const edgeTile = (size: number, level: number): TileName => ({
  level,
  index: Math.floor(Math.floor(size / TILE_WIDTH ** level) / TILE_WIDTH),
});

/** Names the tiles at the right edge of a tree that are not full. */
export function edgeTiles(size: number): TileName[] {
  const tiles: TileName[] = [];
  for (let level = 0; TILE_WIDTH ** level <= size; level += 1) {
    const tile = edgeTile(size, level);
    if (widthIn(size, tile) > 0) tiles.push(tile);
  }
  return tiles;
}

/** The number of tiles of a tree of this size. */
export function tilesIn(size: number): number {
  let count = 0;
  for (let hashes = size; hashes > 0; hashes = Math.floor(hashes / TILE_WIDTH)) count += Math.ceil(hashes / TILE_WIDTH);
  return count;
}

export const isFull = ({ hashes }: StoredTile): boolean => hashes.length === TILE_WIDTH * HASH_BYTES;

/** Adds leaves at the right edge of a tree, tile after tile, and keeps the tiles that changed. */
export class GrowingTree {
  private readonly edge: Buffer[][] = [];
  private changedTiles: (TileName & { readonly hashes: Buffer[] })[] = [];
  /** The entries of the last changed tile of each level. */
  private changing: Buffer[][] = [];

  /** `edge` has each tile that `edgeTiles` names. */
  constructor(
    private size: number,
    edge: readonly StoredTile[],
  ) {
    for (const { level, hashes } of edge) this.edge[level] = entriesOf(hashes);
  }

  add(leaf: Buffer): void {
    this.append(0, leaf, Math.floor(this.size / TILE_WIDTH));
    this.size += 1;
  }

  /** The root of the whole tree. */
  root(): Buffer {
    const subtrees = this.edge.flatMap((entries = []) => completeSubtrees(entries).toReversed());
    return foldNodes(subtrees.toReversed());
  }

  /** The tiles at the right edge that are not full. Another tree can grow from them. */
  openTiles(): StoredTile[] {
    return edgeTiles(this.size).map((name) => ({ ...name, hashes: Buffer.concat(this.edge[name.level] ?? []) }));
  }

  /** The tiles that changed since the last call. */
  takeChanged(): StoredTile[] {
    const taken = this.changedTiles.map(({ level, index, hashes }) => ({
      level,
      index,
      hashes: Buffer.concat(hashes),
    }));
    [this.changedTiles, this.changing] = [[], []];
    return taken;
  }

  private append(level: number, hash: Buffer, index: number): void {
    const entries = this.edge[level] ?? [];
    this.edge[level] = entries;
    entries.push(hash);
    if (this.changing[level] !== entries) {
      this.changing[level] = entries;
      this.changedTiles.push({ level, index, hashes: entries });
    }
    if (entries.length < TILE_WIDTH) return;
    this.edge[level] = [];
    const whole = hashOfEntries(Buffer.concat(entries), { from: 0, to: TILE_WIDTH });
    this.append(level + 1, whole, Math.floor(index / TILE_WIDTH));
  }
}

/** The hashes of a tile, or of several in a row. */
export const entriesOf = (hashes: Buffer): Buffer[] =>
  Array.from({ length: hashes.length / HASH_BYTES }, (_, i) => hashes.subarray(i * HASH_BYTES, (i + 1) * HASH_BYTES));

/** The hashes of the largest complete subtrees of a tile that is not full, from left to right. */
function completeSubtrees(entries: readonly Buffer[]): Buffer[] {
  const tile = Buffer.concat(entries);
  const subtrees: Buffer[] = [];
  for (let from = 0; from < entries.length; ) {
    const width = 2 ** Math.floor(Math.log2(entries.length - from));
    subtrees.push(hashOfEntries(tile, { from, to: from + width }));
    from += width;
  }
  return subtrees;
}

/** `x001/x234/067` for 1234067. */
const indexPath = (index: number): string => {
  const digits = String(index).padStart(Math.ceil(String(index).length / 3) * 3, '0');
  return digits.replace(/\d{3}(?=\d)/g, 'x$&/');
};

/** `0/x001/067` for a full tile, `0/x001/067.p/5` for one of five hashes. */
export const tilePath = ({ level, index }: TileName, width = TILE_WIDTH): string =>
  `${level}/${indexPath(index)}${width === TILE_WIDTH ? '' : `.p/${width}`}`;

const TILE_PATH = /^(?<level>\d|[1-5]\d|6[0-3])\/(?<index>(?:x\d{3}\/)*\d{3})(?:\.p\/(?<width>[1-9]\d{0,2}))?$/;

/** Parses the path of a tile. Undefined for any other text. */
export function parseTilePath(path: string): (TileName & { readonly width: number }) | undefined {
  const { level, index, width = String(TILE_WIDTH) } = TILE_PATH.exec(path)?.groups ?? {};
  if (level === undefined || index === undefined) return undefined;
  const tile = { level: Number(level), index: Number(index.replaceAll(/[x/]/g, '')), width: Number(width) };
  return tilePath(tile, tile.width) === path ? tile : undefined;
}
