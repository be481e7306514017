import type { SealedLogs, StoredCheckpoint } from '../seal/sealed-logs.js';
import { parseCheckpoint } from '../tree/checkpoint.js';
import { HASH_BYTES } from '../tree/merkle-tree.js';
import { parseNote, type VerifierKey } from '../tree/signed-note.js';
import { entriesOf, GrowingTree, TILE_WIDTH } from '../tree/tiles.js';

/** A fault between two checkpoints, or at a position if the stored tiles still lead to the signed one. */
type ReportFault = (what: string) => void;

const SIGNED_OTHERWISE = 'is not the event that was signed: it was edited and hashed anew, or another took its place';
/** Missing events of a log beyond which no further checkpoint is compared: a row can claim any size. */
const MAX_MISSING = 100_000;
const MISSING = Buffer.alloc(HASH_BYTES);

/**
 * Compares the events of one log with its signed checkpoints. Their hashes are computed from the events, never read, so
 * a checkpoint whose root they make proves all events up to it.
 */
export class SealedChecks {
  private readonly checkpoints: AsyncGenerator<StoredCheckpoint>;
  private next: StoredCheckpoint | undefined;
  private tree = new GrowingTree(0, []);
  /** The size of the last checkpoint, and the leaves after it. */
  private sealed = 0;
  private leaves: Buffer[] = [];
  private missing = 0;

  constructor(
    private readonly logs: SealedLogs,
    private readonly accountId: string,
    /** One of them must have signed each checkpoint. None: signatures are not checked. */
    private readonly keys: readonly VerifierKey[],
    private readonly report: ReportFault,
  ) {
    this.checkpoints = checkpointsOf(logs, accountId);
  }

  async begin(): Promise<void> {
    this.next = await this.following();
  }

  /** Adds the hash of the event at a position. The promise, if there is one, must be awaited before the next. */
  add(position: number, hash: Buffer): Promise<void> | undefined {
    if (this.next === undefined) return undefined;
    const isDue = position === this.next.size || position > this.size + 1;
    if (isDue) return this.addDue(position, hash);
    this.append(hash);
    return undefined;
  }

  /** `size`: the number of events that the log should have. */
  async end(size: number): Promise<void> {
    await this.fillTo(size);
    let last: StoredCheckpoint | undefined;
    for (; this.next !== undefined; this.next = await this.following()) last = this.next;
    if (last !== undefined) {
      this.report(`the log has ${size} events, but a checkpoint of ${last.size} was signed: its tail is lost`);
    }
  }

  /** Adds a hash that completes a checkpoint, or that comes after a gap. */
  private async addDue(position: number, hash: Buffer): Promise<void> {
    await this.fillTo(position - 1);
    if (this.next === undefined) return;
    this.append(hash);
    await this.compareIfDue(this.next);
  }

  /** Positions that were left out are missing. */
  private async fillTo(position: number): Promise<void> {
    if (this.next === undefined || this.size >= position) return;
    this.missing += position - this.size;
    if (this.missing > MAX_MISSING) return this.giveUp(position);
    while (this.next !== undefined && this.size < position) {
      this.append(MISSING);
      await this.compareIfDue(this.next);
    }
  }

  private giveUp(position: number): void {
    this.report(`positions ${this.size + 1} to ${position} are missing, so no later checkpoint can be compared`);
    this.next = undefined;
    this.leaves = [];
  }

  private append(leaf: Buffer): void {
    this.tree.add(leaf);
    this.leaves.push(leaf);
  }

  /** The number of leaves. */
  private get size(): number {
    return this.sealed + this.leaves.length;
  }

  /** Without a next checkpoint to compare with, nothing needs to be kept. */
  private async compareIfDue(next: StoredCheckpoint): Promise<void> {
    if (this.size < next.size) return;
    const goesOn = await this.compare(next);
    this.sealed = next.size;
    this.leaves = [];
    this.tree.takeChanged();
    this.next = goesOn ? await this.following() : undefined;
    if (goesOn && this.next === undefined) await this.compareTiles(next.size);
  }

  /** Proofs are made of the tiles, and the next checkpoint too. */
  private async compareTiles(size: number): Promise<void> {
    const root = await this.rootOfTiles(size);
    if (root?.equals(this.tree.root()) === true) return;
    this.report(`the stored tiles do not make the checkpoint of ${size} events: they are missing or damaged`);
  }

  private async following(): Promise<StoredCheckpoint | undefined> {
    return (await this.checkpoints.next()).value;
  }

  /** False if no later checkpoint can be compared. */
  private async compare({ size, note }: StoredCheckpoint): Promise<boolean> {
    const parsed = parseNote(note);
    const checkpoint = parsed && parseCheckpoint(parsed.text);
    const isSigned = this.keys.length === 0 || this.keys.some((key) => parsed?.isSignedBy(key) === true);
    if (!isSigned || checkpoint?.size !== size) this.report(`the checkpoint of ${size} events: its signature is wrong`);
    return checkpoint === undefined || this.tree.root().equals(checkpoint.root) || this.locate(size, checkpoint.root);
  }

  /** Names the positions that differ, and goes on with the tree that was signed. */
  private async locate(size: number, root: Buffer): Promise<boolean> {
    const tilesLead = (await this.rootOfTiles(size))?.equals(root) === true;
    if (!tilesLead) {
      this.report(
        `positions ${this.sealed + 1} to ${size}: their events do not make the signed checkpoint of ${size} events`,
      );
      return false;
    }
    const signed = await this.signedLeaves(size);
    const others = [...this.leaves.entries()].filter(([i, leaf]) => signed[i]?.equals(leaf) !== true);
    for (const [i, leaf] of others) {
      if (leaf !== MISSING) this.report(`position ${this.sealed + i + 1}: ${SIGNED_OTHERWISE}`);
    }
    if (others.length === 0) {
      this.report(
        `the checkpoint of ${size} events contradicts that of ${this.sealed}: the tiles were changed before it was signed`,
      );
    }
    this.tree = new GrowingTree(size, await this.logs.edge(this.accountId, size));
    return true;
  }

  private async rootOfTiles(size: number): Promise<Buffer | undefined> {
    const [root] = await this.logs.hashesOf(this.accountId, [{ from: 0, to: size }]).catch(() => []);
    return root;
  }

  /** The leaves that the tiles have for the positions after the last checkpoint. */
  private async signedLeaves(size: number): Promise<Buffer[]> {
    const first = Math.floor(this.sealed / TILE_WIDTH);
    const names = Array.from({ length: Math.ceil(size / TILE_WIDTH) - first }, (_, i) => ({
      level: 0,
      index: first + i,
    }));
    const tiles = (await this.logs.tiles(this.accountId, names)).toSorted((a, b) => a.index - b.index);
    return entriesOf(Buffer.concat(tiles.map(({ hashes }) => hashes))).slice(this.sealed - first * TILE_WIDTH);
  }
}

async function* checkpointsOf(logs: SealedLogs, accountId: string): AsyncGenerator<StoredCheckpoint> {
  for (let beyond = 0; ; ) {
    const page = await logs.checkpoints(accountId, beyond);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    beyond = last.size;
  }
}
