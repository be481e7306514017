import type { SealedLogs } from '../transparency/seal/sealed-logs.js';
import { HASH_BYTES } from '../transparency/tree/merkle-tree.js';
import { entriesOf, isFull, type StoredTile, TILE_WIDTH, type TileName, widthIn } from '../transparency/tree/tiles.js';

/** A stored tile that differs from the tile that the leaves make. */
export interface TileFault extends TileName {
  /** The right tile. Undefined: the tree has no such tile. */
  readonly made: StoredTile | undefined;
  readonly what: string;
}

/** Gets a fault. If it returns a promise, the next fault waits for it. */
export type OnTileFault = (fault: TileFault) => Promise<void> | void;

interface Compared {
  readonly made: StoredTile;
  readonly stored: StoredTile | undefined;
}

/**
 * Compares the tiles that the leaves of a log make with the stored ones: full tiles first, and the tiles of the edge
 * last.
 */
export class TileChecks {
  /** Full tiles that differ. The next checkpoint shows whether the tile or an event is wrong. */
  private differing: Compared[] = [];

  constructor(
    private readonly logs: SealedLogs,
    private readonly accountId: string,
    private readonly onFault: OnTileFault,
  ) {}

  /** Compares the tiles that are full. Each tile becomes full only once. */
  async compareFull(made: readonly StoredTile[]): Promise<void> {
    for (const one of await this.withStored(made.filter(isFull))) {
      if (one.stored?.hashes.equals(one.made.hashes) !== true) this.differing.push(one);
    }
  }

  /** Reports the tiles that differ, after a checkpoint has confirmed their leaves. */
  async confirm(): Promise<void> {
    for (const { made, stored } of this.takeDiffering()) await this.report(made, wrongIn(made, stored));
  }

  /**
   * The leaves between two sizes that differ in the stored tiles, with their index. `open` has the tiles that are not
   * full.
   */
  async *otherLeaves(from: number, to: number, open: readonly StoredTile[]): AsyncGenerator<[number, Buffer]> {
    const tiles = [...this.takeDiffering(), ...(await this.withStored(open))].filter(({ made }) => made.level === 0);
    for (const { made, stored } of tiles) {
      const entries = entriesOf(stored?.hashes ?? Buffer.alloc(0));
      for (const [i, leaf] of entriesOf(made.hashes).entries()) {
        const index = made.index * TILE_WIDTH + i;
        if (index >= from && index < to && entries[i]?.equals(leaf) !== true) yield [index, leaf];
      }
    }
  }

  /** Ends with a tree of this size. The stored tiles must be those of the tree, and no others. */
  async finish(size: number, open: readonly StoredTile[]): Promise<void> {
    this.differing = this.differing.filter(({ made }) => widthIn(size, made) === TILE_WIDTH);
    await this.confirm();
    for (const { made, stored } of await this.withStored(open)) {
      if (stored?.hashes.equals(made.hashes) !== true) await this.report(made, wrongIn(made, stored));
    }
    for (const name of await this.logs.surplus(this.accountId, size)) {
      await this.report(name, `is surplus: the tree of ${size} events has none there`);
    }
  }

  private takeDiffering(): readonly Compared[] {
    return this.differing.splice(0);
  }

  private async withStored(made: readonly StoredTile[]): Promise<Compared[]> {
    const names = made.map(({ level, index }) => ({ level, index }));
    const stored = new Map((await this.logs.tiles(this.accountId, names)).map((tile) => [keyOf(tile), tile]));
    return made.map((tile) => ({ made: tile, stored: stored.get(keyOf(tile)) }));
  }

  private async report(tile: TileName | StoredTile, wrong: string): Promise<void> {
    const { level, index } = tile;
    const made = 'hashes' in tile ? tile : undefined;
    await this.onFault({ level, index, made, what: `the stored tile of level ${level} and index ${index} ${wrong}` });
  }
}

const keyOf = ({ level, index }: TileName): string => `${level}/${index}`;

function wrongIn({ hashes }: StoredTile, stored: StoredTile | undefined): string {
  if (stored === undefined) return 'is missing';
  const [has, needs] = [stored.hashes.length, hashes.length].map((bytes) => bytes / HASH_BYTES);
  if (has === needs) return 'is damaged: its hashes are not those that the events make';
  return `has ${has} hashes instead of ${needs}`;
}
