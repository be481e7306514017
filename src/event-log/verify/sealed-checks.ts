import type { LinkedCheckpoint, SealedLogs, StoredCheckpoint } from '../transparency/seal/sealed-logs.js';
import { parseSignedCheckpoint } from '../transparency/tree/checkpoint.js';
import { HASH_BYTES } from '../transparency/tree/merkle-tree.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';
import { entriesOf, GrowingTree, type StoredTile, TILE_WIDTH } from '../transparency/tree/tiles.js';
import { orderFaultOf, type SignatureReport, Signatures } from './signatures.js';
import { type OnTileFault, TileChecks } from './tile-checks.js';

/** Gets the faults of checkpoints and events, in words, and the faults of tiles. */
export interface SealedReport extends SignatureReport {
  readonly tileFault: OnTileFault;
}

const SIGNED_OTHERWISE = 'is not the event that was signed: it was edited and hashed anew, or another took its place';
/** With more missing events than this no further checkpoint is compared. A forged row can claim any size. */
const MAX_MISSING = 100_000;
const MISSING = Buffer.alloc(HASH_BYTES);
/** After this many leaves, full tiles are compared with the stored ones, so that memory does not hold all of them. */
const COMPARE_EVERY = 16 * TILE_WIDTH;

/**
 * Compares the events of one log with its signed checkpoints, and the tiles that the events make with the stored tiles.
 * All hashes are computed from the events, so a checkpoint with the same root proves all events up to it.
 */
export class SealedChecks {
  private readonly checkpoints: AsyncGenerator<LinkedCheckpoint>;
  private readonly tiles: TileChecks;
  private next: LinkedCheckpoint | undefined;
  private tree = new GrowingTree(0, []);
  private size = 0;
  /** The size of the last checkpoint, and the edge of its tree. */
  private sealed = 0;
  private edge: readonly StoredTile[] = [];
  private missing = 0;
  private readonly signatures: Signatures;
  private hasEnded = false;

  constructor(
    private readonly logs: SealedLogs,
    private readonly accountId: string,
    /**
     * The keys, oldest first, that may have signed checkpoints. An older key must not sign after a newer one. None:
     * signatures are not checked.
     */
    keys: readonly VerifierKey[],
    private readonly report: SealedReport,
  ) {
    this.checkpoints = checkpointsOf(logs, accountId);
    this.signatures = new Signatures(keys, report);
    this.tiles = new TileChecks(logs, accountId, report.tileFault);
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
      return this.giveUp();
    }
    while (this.next !== undefined && this.size < position) await this.append(MISSING, this.next);
  }

  private giveUp(): void {
    this.next = undefined;
    this.hasEnded = true;
  }

  private async append(leaf: Buffer, next: LinkedCheckpoint): Promise<void> {
    this.tree.add(leaf);
    this.size += 1;
    if (this.size % COMPARE_EVERY === 0) await this.tiles.compareFull(this.tree.takeChanged());
    if (this.size === next.size) await this.compare(next);
  }

  private async compare(next: LinkedCheckpoint): Promise<void> {
    this.signatures.isSigned(next);
    const root = parseSignedCheckpoint(next.note)?.checkpoint.root;
    const isMade = root === undefined || this.tree.root().equals(root) || (await this.locate(next.size, root));
    if (!isMade) return this.giveUp();
    await this.tiles.confirm();
    [this.sealed, this.edge] = [next.size, this.tree.openTiles()];
    this.next = await this.following(next.size);
    if (this.next === undefined) await this.finish();
  }

  /**
   * Reports the positions that differ, and continues with the signed tree. Returns false if the stored tiles do not
   * lead to that tree.
   */
  private async locate(size: number, root: Buffer): Promise<boolean> {
    await this.tiles.compareFull(this.tree.takeChanged());
    const others: [number, Buffer][] = [];
    for await (const other of this.tiles.otherLeaves(this.sealed, size, this.tree.openTiles())) others.push(other);
    const signed = await this.storedTree(new GrowingTree(this.sealed, this.edge), this.sealed, size);
    if (signed?.root().equals(root) === true) {
      this.tree = signed;
      await this.tiles.compareFull(signed.takeChanged());
      for (const [index, leaf] of others) {
        if (!leaf.equals(MISSING)) this.report.fault(`position ${index + 1}: ${SIGNED_OTHERWISE}`);
      }
      return true;
    }
    const otherwise = await this.storedTree(new GrowingTree(0, []), 0, size);
    if (others.length > 0 || otherwise?.root().equals(root) !== true) {
      this.report.fault(
        `positions ${this.sealed + 1} to ${size}: their events do not make the signed checkpoint of ${size} events`,
      );
      return false;
    }
    this.report.fault(
      `the checkpoint of ${size} events contradicts that of ${this.sealed}: the tiles were changed before it was signed`,
    );
    otherwise.takeChanged();
    this.tree = otherwise;
    return true;
  }

  /** Adds the leaves of the stored tiles to a tree, from one size to another. Undefined if some are missing. */
  private async storedTree(tree: GrowingTree, from: number, size: number): Promise<GrowingTree | undefined> {
    for (let at = from; at < size; ) {
      const index = Math.floor(at / TILE_WIDTH);
      const [tile] = await this.logs.tiles(this.accountId, [{ level: 0, index }]);
      const end = Math.min(size, (index + 1) * TILE_WIDTH);
      const leaves = entriesOf(tile?.hashes ?? Buffer.alloc(0)).slice(
        at - index * TILE_WIDTH,
        end - index * TILE_WIDTH,
      );
      if (leaves.length < end - at) return undefined;
      for (const leaf of leaves) tree.add(leaf);
      at = end;
    }
    return tree;
  }

  /** Compares the stored tiles with the last checkpoint, because proofs and the next checkpoint are made from them. */
  private async finish(): Promise<void> {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.signatures.end();
    await this.tiles.compareFull(this.tree.takeChanged());
    await this.tiles.finish(this.sealed, this.edge);
    const signed = new GrowingTree(this.sealed, this.edge).root();
    if ((await this.rootOfTiles(this.sealed))?.equals(signed) === true) return;
    this.report.fault(
      `the stored tiles do not make the checkpoint of ${this.sealed} events: they are missing or damaged`,
    );
  }

  private async rootOfTiles(size: number): Promise<Buffer | undefined> {
    const [root] = await this.logs.hashesOf(this.accountId, [{ from: 0, to: size }]).catch(() => []);
    return root;
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
