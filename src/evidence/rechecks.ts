import type { KeyHistory } from '../log/seal/checkpoint-key.js';
import type { Checkpoints } from '../log/seal/checkpoints.js';
import { type SealedLogs, TilesDamaged } from '../log/seal/sealed-logs.js';
import { type LeafRange, rangesBeside, rootAround } from '../log/tree/merkle-tree.js';
import { TILE_WIDTH } from '../log/tree/tiles.js';

/** Events that one look covers. */
const STRETCH = 4 * TILE_WIDTH;

interface Signed {
  readonly accountId: string;
  readonly size: number;
  readonly root: Buffer;
}

/**
 * Holds the events that are there now to what was signed, a stretch of one log at each look, in rotation. Without it nothing
 * would notice that an idle log was written anew, with hashes that fit: no checkpoint follows until the log grows.
 */
export class Rechecks {
  private accountId = '';
  /** The number of events of this log that were looked at; infinite once it was all that had a checkpoint. */
  private done = 0;

  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
  ) {}

  async next(keys: KeyHistory): Promise<void> {
    let signed = await this.signed(keys);
    if (signed === undefined || this.done >= signed.size) {
      [this.accountId, this.done] = [await this.logs.nextLog(this.accountId), 0];
      signed = await this.signed(keys);
    }
    if (signed === undefined) return;
    const stretch = { from: this.done, to: Math.min(this.done + STRETCH, signed.size) };
    // A look that failed is made again.
    await this.look(signed, stretch);
    this.done = stretch.to === signed.size ? Number.POSITIVE_INFINITY : stretch.to;
  }

  /** The newest checkpoint of the log, if a known key has signed it: anyone who may insert a row can write another one. */
  private async signed(keys: KeyHistory): Promise<Signed | undefined> {
    const { accountId } = this;
    const last = accountId === '' ? undefined : await this.logs.lastCheckpoint(accountId);
    const signed = last && keys.signedIn(last.note, accountId);
    return signed?.size === last?.size ? signed && { accountId, size: signed.size, root: signed.root } : undefined;
  }

  private async look({ accountId, size, root }: Signed, { from, to }: LeafRange): Promise<void> {
    const leaves = await this.logs.leaves(accountId, from, to);
    const what = `the events of the positions ${from + 1} to ${to} of the log of ${accountId}`;
    try {
      const beside = await this.logs.hashesOf(accountId, rangesBeside({ from, to }, { from: 0, to: size }));
      const isWhole =
        leaves.length === to - from && rootAround(size, { from, width: 1, hashes: leaves }, beside).equals(root);
      const said = `${what} do not make its checkpoint of ${size} events: they were changed, or tiles beside them`;
      if (!isWhole) return this.checkpoints.raise(accountId, { loss: 'events', signed: to }, said);
      await this.compareTiles(accountId, from, leaves);
    } catch (error) {
      if (!(error instanceof TilesDamaged)) throw error;
      this.checkpoints.raise(accountId, { loss: 'tiles', signed: 0 }, `${what} cannot be compared: ${error.message}`);
    }
  }

  /** Proofs of other events are made of these. */
  private async compareTiles(accountId: string, from: number, leaves: readonly Buffer[]): Promise<void> {
    const names = Array.from({ length: Math.ceil(leaves.length / TILE_WIDTH) }, (_, i) => ({
      level: 0,
      index: from / TILE_WIDTH + i,
    }));
    const stored = (await this.logs.tiles(accountId, names)).toSorted((a, b) => a.index - b.index);
    const made = Buffer.concat(leaves);
    const hashes = Buffer.concat(stored.map((tile) => tile.hashes));
    if (hashes.subarray(0, made.length).equals(made)) return;
    throw new TilesDamaged(`the tiles of level 0 from index ${from / TILE_WIDTH} on are missing or damaged`);
  }
}
