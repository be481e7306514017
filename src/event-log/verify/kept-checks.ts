import type { Checkpoint } from '../transparency/tree/checkpoint.js';
import { HASH_BYTES } from '../transparency/tree/merkle-tree.js';
import { GrowingTree } from '../transparency/tree/tiles.js';

/** A checkpoint that an auditor, or a witness, has kept outside of the database. */
export interface KeptCheckpoint extends Checkpoint {
  /** For messages. */
  readonly file: string;
  /** Whether those have signed it who should. */
  readonly isSigned: boolean;
}

const MISSING = Buffer.alloc(HASH_BYTES);
/** The tree remembers what changed until it is asked. */
const FORGET_EVERY = 10_000;

/** The account of the log that a checkpoint is of: the last part of its origin. */
export const accountOf = ({ origin }: Checkpoint): string => origin.slice(origin.lastIndexOf('/') + 1);

/** Compares the events of one log with checkpoints that were kept. Their hashes are computed from the events. */
export class KeptChecks {
  private readonly tree = new GrowingTree(0, []);
  /** The next of `kept`. */
  private next = 0;
  private size = 0;
  /** The size of the last checkpoint that the events make. */
  private proven = 0;

  private constructor(
    private readonly kept: readonly KeptCheckpoint[],
    private readonly report: (what: string) => void,
  ) {}

  /** `kept`: in the order of their sizes. None: there is nothing to check, and no event costs anything. */
  static of(kept: readonly KeptCheckpoint[], report: (what: string) => void): KeptChecks[] {
    return kept.length === 0 ? [] : [new KeptChecks(kept, report)];
  }

  /** Adds the hash of the event at a position. */
  add(position: number, hash: Buffer): undefined {
    while (this.next < this.kept.length && this.size < position - 1) this.append(MISSING);
    if (this.next < this.kept.length) this.append(hash);
  }

  /** `size`: the number of events that the log should have. */
  end(size: number): void {
    while (this.next < this.kept.length && this.size < size) this.append(MISSING);
    for (const one of this.kept.slice(this.next)) {
      const { size: kept, file } = one;
      this.refuseUnsigned(one);
      this.report(`the log has ${size} events, but the checkpoint in ${file} is of ${kept}: its tail is lost`);
    }
  }

  private append(leaf: Buffer): void {
    this.tree.add(leaf);
    this.size += 1;
    if (this.size % FORGET_EVERY === 0) this.tree.takeChanged();
    for (let one = this.kept[this.next]; one?.size === this.size; one = this.kept[this.next]) {
      this.refuseUnsigned(one);
      this.compare(one);
      this.next += 1;
    }
  }

  private refuseUnsigned({ size, file, isSigned }: KeptCheckpoint): void {
    if (!isSigned) this.report(`the checkpoint of ${size} events in ${file}: its signature is wrong`);
  }

  private compare({ size, root, file }: KeptCheckpoint): void {
    if (this.tree.root().equals(root)) this.proven = size;
    else
      this.report(
        `positions ${this.proven + 1} to ${size}: their events do not make the checkpoint of ${size} events in ${file}`,
      );
  }
}
