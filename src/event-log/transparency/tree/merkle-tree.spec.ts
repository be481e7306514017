import { createHash } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  consistencyRanges,
  foldNodes,
  HASH_BYTES,
  inclusionRanges,
  isConsistent,
  type LeafRange,
  nodesOf,
  rangesBeside,
  rootAround,
  rootOfInclusion,
} from './merkle-tree.js';
import {
  edgeTiles,
  GrowingTree,
  hashOfEntries,
  parseTilePath,
  spanOf,
  TILE_WIDTH,
  tilePath,
  widthIn,
} from './tiles.js';

const sha256 = (...parts: Buffer[]): Buffer => createHash('sha256').update(Buffer.concat(parts)).digest();
const leafOf = (data: string): Buffer => sha256(Buffer.from([0]), Buffer.from(data, 'hex'));

/** MTH as RFC 6962 defines it, without a thought for speed. */
function treeHash(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (only === undefined) return sha256();
  if (leaves.length === 1) return only;
  const k = 2 ** Math.floor(Math.log2(leaves.length - 1));
  return sha256(Buffer.from([1]), treeHash(leaves.slice(0, k)), treeHash(leaves.slice(k)));
}

/** The leaves and roots of the test data that implementations of Certificate Transparency share. */
const LEAVES = ['', '00', '10', '2021', '3031', '40414243', '5051525354555657', '606162636465666768696a6b6c6d6e6f'];
const ROOTS = [
  'e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855',
  '6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d',
  'fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125',
  'aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77',
  'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
  '4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4',
  '76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef',
  'ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c',
  '5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328',
];

/** The tiles of a tree, kept as the service keeps them: the longest state of each. */
function tilesOf(leaves: readonly Buffer[], steps: readonly number[] = [leaves.length]) {
  const tiles = new Map<string, Buffer>();
  let [from, root] = [0, sha256()];
  for (const to of steps) {
    const edge = edgeTiles(from).map((tile) => ({
      ...tile,
      hashes: (tiles.get(`${tile.level}/${tile.index}`) ?? Buffer.alloc(0)).subarray(
        0,
        widthIn(from, tile) * HASH_BYTES,
      ),
    }));
    const tree = new GrowingTree(from, edge);
    for (const leaf of leaves.slice(from, to)) tree.add(leaf);
    for (const { level, index, hashes } of tree.takeChanged()) tiles.set(`${level}/${index}`, hashes);
    root = tree.root();
    from = to;
  }
  const hashOf = (range: LeafRange): Buffer =>
    foldNodes(
      nodesOf(range).map((node) => {
        const span = spanOf(node);
        return hashOfEntries(tiles.get(`${span.level}/${span.index}`) ?? Buffer.alloc(0), span);
      }),
    );
  return { root, hashOf, tiles };
}

/** Jest compares long texts far faster than buffers. */
const textOf = (tiles: ReadonlyMap<string, Buffer>): object =>
  Object.fromEntries([...tiles].map(([name, bytes]) => [name, bytes.toString('hex')]));

const manyLeaves = (count: number): Buffer[] =>
  Array.from({ length: count }, (_, i) => sha256(Buffer.from(`leaf ${i}`)));

describe('the Merkle tree', () => {
  it('has the roots of the published test data', () => {
    for (const [size, root] of ROOTS.entries()) {
      const leaves = LEAVES.slice(0, size).map(leafOf);
      expect(tilesOf(leaves).root.toString('hex')).toBe(root);
    }
  });

  it('has the inclusion proof of the published test data', () => {
    const { hashOf } = tilesOf(LEAVES.map(leafOf));
    expect(inclusionRanges(5, { from: 0, to: 8 }).map((range) => hashOf(range).toString('hex'))).toEqual([
      'bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b',
      'ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0',
      'd37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7',
    ]);
  });

  it('has the same root and tiles however it grew', () => {
    const leaves = manyLeaves(700);
    fc.assert(
      fc.property(fc.uniqueArray(fc.integer({ min: 1, max: 700 }), { maxLength: 6 }), (sizes) => {
        const steps = sizes.toSorted((a, b) => a - b);
        const grown = tilesOf(leaves, steps);
        const last = steps.at(-1) ?? 0;
        expect(grown.root).toEqual(treeHash(leaves.slice(0, last)));
        expect(textOf(grown.tiles)).toEqual(textOf(tilesOf(leaves.slice(0, last)).tiles));
      }),
      { numRuns: 20 },
    );
  });

  it('proves that a leaf is in it, and that it is the beginning of a later one, and nothing else', () => {
    const leaves = manyLeaves(600);
    const { hashOf } = tilesOf(leaves);
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 600 }), fc.nat(599), fc.nat(600), (size, at, other) => {
        const index = at % size;
        const root = treeHash(leaves.slice(0, size));
        const proof = inclusionRanges(index, { from: 0, to: size }).map(hashOf);
        const leaf = leaves[index] ?? sha256();
        expect(rootOfInclusion(index, size, leaf, proof)).toEqual(root);
        expect(rootOfInclusion(index, size, sha256(leaf), proof)).not.toEqual(root);
        expect(rootOfInclusion(index, size, leaf, [...proof, leaf])).toBeUndefined();

        const older = other % (size + 1);
        const heads = [
          { size: older, root: treeHash(leaves.slice(0, older)) },
          { size, root },
        ] as const;
        const steps = consistencyRanges(older, size).map(hashOf);
        expect(isConsistent(...heads, steps)).toBe(true);
        if (older > 0) {
          expect(isConsistent({ ...heads[0], root: sha256(root) }, heads[1], steps)).toBe(false);
          expect(isConsistent(heads[0], { ...heads[1], root: sha256(root) }, steps)).toBe(false);
        }
        for (const i of steps.keys()) {
          expect(isConsistent(...heads, steps.with(i, sha256()))).toBe(false);
          expect(isConsistent(...heads, steps.toSpliced(i, 1))).toBe(false);
        }
      }),
      { numRuns: 60 },
    );
  });

  it('takes no proof whose hashes are cut or joined, though their bytes make the signed root', () => {
    const [a, b] = [sha256(Buffer.from('a')), sha256(Buffer.from('b'))];
    const root = sha256(Buffer.from([1]), a, b);
    const [none, both] = [Buffer.alloc(0), Buffer.concat([a, b])];
    expect(isConsistent({ size: 3, root }, { size: 4, root }, [none, none, both])).toBe(false);
    expect(rootOfInclusion(0, 2, none, [both])).toBeUndefined();
    expect(rootOfInclusion(0, 2, both, [none])).toBeUndefined();
    expect(rootOfInclusion(0, 2, a, [b])).toEqual(root);
  });
});

describe('a part of a tree', () => {
  it('makes the root with the hashes beside it, and another root once a leaf of it is another', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(), fc.nat(), (size, a, b) => {
        const leaves = Array.from({ length: size }, (_, i) => sha256(Buffer.from(String(i))));
        const from = a % size;
        const to = from + 1 + (b % (size - from));
        const beside = rangesBeside({ from, to }, { from: 0, to: size }).map((one) =>
          treeHash(leaves.slice(one.from, one.to)),
        );
        expect(rootAround(size, { from, width: 1, hashes: leaves.slice(from, to) }, beside)).toEqual(treeHash(leaves));
        const others = leaves.slice(from, to).with(b % (to - from), sha256());
        expect(rootAround(size, { from, width: 1, hashes: others }, beside)).not.toEqual(treeHash(leaves));
      }),
    );
  });

  it('does so by the hashes of its subtrees too', () => {
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 300 }), fc.nat(8), fc.nat(), fc.nat(), (size, level, a, b) => {
        const width = 2 ** level;
        const leaves = Array.from({ length: size }, (_, i) => sha256(Buffer.from(String(i))));
        const hashOf = ({ from, to }: LeafRange): Buffer => treeHash(leaves.slice(from, to));
        const subtrees = Array.from({ length: Math.floor(size / width) }, (_, i) => i * width);
        const first = a % (subtrees.length + 1);
        const part = subtrees.slice(first, first + 1 + (b % (subtrees.length + 1)));
        fc.pre(part.length > 0);
        const [from, to] = [first * width, (first + part.length) * width];
        const beside = rangesBeside({ from, to }, { from: 0, to: size }).map(hashOf);
        const hashes = part.map((at) => hashOf({ from: at, to: at + width }));
        expect(rootAround(size, { from, width, hashes }, beside)).toEqual(treeHash(leaves));
        const others = hashes.with(b % hashes.length, sha256());
        expect(rootAround(size, { from, width, hashes: others }, beside)).not.toEqual(treeHash(leaves));
      }),
    );
  });
});

describe('the path of a tile', () => {
  it.each([
    ['0/000', { level: 0, index: 0, width: TILE_WIDTH }],
    ['0/x001/x234/067', { level: 0, index: 1234067, width: TILE_WIDTH }],
    ['63/x001/000.p/255', { level: 63, index: 1000, width: 255 }],
  ])('%s is one', (path, tile) => {
    expect(parseTilePath(path)).toEqual(tile);
    expect(tilePath(tile, tile.width)).toBe(path);
  });

  it.each([
    '',
    '0/0',
    '00/000',
    '64/000',
    '0/x000/001',
    '0/1000',
    '0/000.p/0',
    '0/000.p/256',
    '0/000.p/01',
    '0/000/',
    '0/x001',
  ])('%j is none', (path) => expect(parseTilePath(path)).toBeUndefined());

  it('a tree of 70,000 leaves has the partial tiles of the specification', () => {
    const widths = edgeTiles(70_000).map((tile) => [tile.level, tile.index, widthIn(70_000, tile)]);
    expect(widths).toEqual([
      [0, 273, 112],
      [1, 1, 17],
      [2, 0, 1],
    ]);
  });
});
