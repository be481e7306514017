import type { LinkedCheckpoint, SealedLogs, StoredCheckpoint } from '../transparency/seal/sealed-logs.js';
import { parseSignedCheckpoint } from '../transparency/tree/checkpoint.js';
import { HASH_BYTES } from '../transparency/tree/merkle-tree.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';
import { GrowingTree, isFull, type StoredTile, TILE_WIDTH, tilesIn, widthIn } from '../transparency/tree/tiles.js';
import { orderFaultOf, type SignatureReport, Signatures } from './signatures.js';

const SIGNED_OTHERWISE = 'is not the event that was signed: it was edited and hashed anew, or another took its place';
const DAMAGED_TILES =
  'the stored tiles are not those that the events make: audit repair-tiles with --account makes them anew';
/** With more missing events than this no further checkpoint is compared. A forged row can claim any size. */
const MAX_MISSING = 100_000;
const MISSING = Buffer.alloc(HASH_BYTES);
/** After this many leaves, full tiles are compared with the stored ones, so that memory does not hold all of them. */
const COMPARE_EVERY = 16 * TILE_WIDTH;
const LEAVES_AT_ONCE = 16 * TILE_WIDTH;

/**
 * Compares the events of one log with its signed checkpoints, and the tiles that the events make with the stored tiles.
 * All hashes are computed from the events, so a checkpoint with the same root proves all events up to it.
 */
export class SealedChecks {
  private readonly checkpoints: AsyncGenerator<LinkedCheckpoint>;
  private next: LinkedCheckpoint | undefined;
  private tree = new GrowingTree(0, []);
  private size = 0;
  /** The size of the last checkpoint, and the edge of its tree. */
  private sealed = 0;
  private edge: readonly StoredTile[] = [];
  private missing = 0;
  private areTilesRight = true;
  /** Whether tiles since the last checkpoint differ. The next one shows whether the tile or an event is wrong. */
  private isDiffering = false;
  private areEventsRight = true;
  private readonly signatures: Signatures;

  constructor(
    private readonly logs: SealedLogs,
    private readonly accountId: string,
    /**
     * The keys, oldest first, that may have signed checkpoints. An older key must not sign after a newer one. None:
     * signatures are not checked.
     */
    keys: readonly VerifierKey[],
    private readonly report: SignatureReport,
  ) {
    this.checkpoints = checkpointsOf(logs, accountId);
    this.signatures = new Signatures(keys, report);
  }

  async begin(): Promise<void> {
    this.next = await this.following(0);
    if (this.next === undefined) await this.finish();
  }

  /** Adds the hash of the event at a position. The caller must await a promise before the next call. */
  add(position: number, hash: Buffer): Promise<void> | undefined {
    return this.next === undefined ? undefined : this.addNext(position, hash);
  }

  /** `size` is the number of events that the log should have. */
  async end(size: number): Promise<void> {
    await this.fillTo(size);
    if (this.next === undefined) return;
    let lost: StoredCheckpoint | undefined;
    for (; this.next !== undefined; this.next = await this.following(this.next.size)) {
      if (this.signatures.isSigned(this.next)) lost = this.next;
    }
    // If the tail is lost, the stored tiles still have its leaves, so they cannot be compared.
    if (lost === undefined) return this.finish();
    this.signatures.end();
    this.report.fault(`the log has ${size} events, but a checkpoint of ${lost.size} was signed: its tail is lost`);
  }

  private async addNext(position: number, hash: Buffer): Promise<void> {
    await this.fillTo(position - 1);
    if (this.next !== undefined) await this.append(hash, this.next);
  }

  /** Adds a mark for each missing position. */
  private async fillTo(position: number): Promise<void> {
    if (this.next === undefined || this.size >= position) return;
    this.missing += position - this.size;
    if (this.missing > MAX_MISSING) {
      this.report.fault(
        `positions ${this.size + 1} to ${position} are missing, so no later checkpoint can be compared`,
      );
      this.next = undefined;
    }
    while (this.next !== undefined && this.size < position) await this.append(MISSING, this.next);
  }

  private async append(leaf: Buffer, next: LinkedCheckpoint): Promise<void> {
    this.tree.add(leaf);
    this.size += 1;
    if (this.size % COMPARE_EVERY === 0) await this.compareTiles(this.tree.takeChanged().filter(isFull));
    if (this.size === next.size) await this.compare(next);
  }

  private async compare(next: LinkedCheckpoint): Promise<void> {
    this.signatures.isSigned(next);
    const root = parseSignedCheckpoint(next.note)?.checkpoint.root;
    const isMade = root === undefined || this.tree.root().equals(root) || (await this.goOnAsSigned(next.size, root));
    this.next = isMade ? await this.following(next.size) : undefined;
    if (!isMade) return;
    if (this.isDiffering) this.areTilesRight = false;
    [this.sealed, this.edge] = [next.size, this.tree.openTiles()];
    if (this.next === undefined) await this.finish();
  }

  /**
   * Goes on with the leaves of the stored tiles if they make the signed root, and reports the events that differ from
   * them. Returns false if they do not.
   */
  private async goOnAsSigned(size: number, root: Buffer): Promise<boolean> {
    this.areEventsRight = false;
    const signed = new GrowingTree(this.sealed, this.edge);
    const others: number[] = [];
    for (let from = this.sealed; from < size; from += LEAVES_AT_ONCE) {
      const to = Math.min(from + LEAVES_AT_ONCE, size);
      const stored = await this.logs.tileLeaves(this.accountId, from, to);
      const leaves = await this.logs.leaves(this.accountId, from, to);
      for (const leaf of stored) signed.add(leaf);
      // Without an event the others are not at their places. The missing position is a fault of its own.
      if (leaves.length < to - from) continue;
      for (const [i, leaf] of leaves.entries()) if (stored[i]?.equals(leaf) !== true) others.push(from + i + 1);
    }
    if (!signed.root().equals(root)) {
      this.report.fault(
        `positions ${this.sealed + 1} to ${size}: their events do not make the signed checkpoint of ${size} events`,
      );
      return false;
    }
    for (const position of others) this.report.fault(`position ${position}: ${SIGNED_OTHERWISE}`);
    this.tree = signed;
    return true;
  }

  /** Compares the stored tiles with the last checkpoint, because proofs and the next checkpoint are made from them. */
  private async finish(): Promise<void> {
    this.signatures.end();
    this.isDiffering = false;
    const full = this.tree.takeChanged().filter((tile) => isFull(tile) && widthIn(this.sealed, tile) === TILE_WIDTH);
    await this.compareTiles([...full, ...this.edge]);
    const isCountRight = (await this.logs.countTiles(this.accountId)) === tilesIn(this.sealed);
    const areRight = this.areTilesRight && !this.isDiffering && isCountRight;
    // Beside events that were changed, nobody can say whether a tile is wrong.
    if (this.areEventsRight && !areRight) this.report.fault(DAMAGED_TILES);
  }

  private async compareTiles(made: readonly StoredTile[]): Promise<void> {
    const stored = await this.logs.tiles(this.accountId, made);
    const hashes = new Map(stored.map((tile) => [`${tile.level}/${tile.index}`, tile.hashes]));
    if (!made.every((tile) => hashes.get(`${tile.level}/${tile.index}`)?.equals(tile.hashes))) this.isDiffering = true;
  }

  /** The checkpoint that follows the one of this size. */
  private async following(size: number): Promise<LinkedCheckpoint | undefined> {
    const next: LinkedCheckpoint | undefined = (await this.checkpoints.next()).value;
    const fault = next && orderFaultOf(next, size);
    if (fault !== undefined) this.report.fault(fault);
    return next;
  }
}

async function* checkpointsOf(logs: SealedLogs, accountId: string): AsyncGenerator<LinkedCheckpoint> {
  for (let beyond = 0; ; ) {
    const page = await logs.checkpoints(accountId, beyond);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    beyond = last.size;
  }
}
