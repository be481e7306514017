import type { Checkpoint } from '../transparency/tree/checkpoint.js';
import { HASH_BYTES } from '../transparency/tree/merkle-tree.js';
import { GrowingTree } from '../transparency/tree/tiles.js';

/** A checkpoint that an auditor or a witness has kept outside of the database. */
export interface KeptCheckpoint extends Checkpoint {
  /** The file of the checkpoint, for messages. */
  readonly file: string;
  /** Whether the keys that should have signed it have done so. */
  readonly isSigned: boolean;
}

const MISSING = Buffer.alloc(HASH_BYTES);
/** After this many leaves the tree forgets its changed tiles, which nobody needs here. */
const FORGET_EVERY = 10_000;

/** The account of a checkpoint's log, which is the last part of its origin. */
export const accountOf = ({ origin }: Checkpoint): string => origin.slice(origin.lastIndexOf('/') + 1);

/** Compares the events of one log with kept checkpoints. It computes all hashes from the events. */
export class KeptChecks {
  private readonly tree = new GrowingTree(0, []);
  /** The index of the next checkpoint in `kept`. */
  private next = 0;
  private size = 0;
  /** The size of the last checkpoint that matches the events. */
  private proven = 0;

  private constructor(
    private readonly kept: readonly KeptCheckpoint[],
    private readonly report: (what: string) => void,
  ) {}

  /** The checks of kept checkpoints, which come in the order of their sizes. Empty if there are none. */
  static of(kept: readonly KeptCheckpoint[], report: (what: string) => void): KeptChecks[] {
    return kept.length === 0 ? [] : [new KeptChecks(kept, report)];
  }

  /** Adds the hash of the event at a position. */
  add(position: number, hash: Buffer): undefined {
    while (this.next < this.kept.length && this.size < position - 1) this.append(MISSING);
    if (this.next < this.kept.length) this.append(hash);
  }

  /** `size` is the number of events that the log should have. */
  end(size: number): void {
    while (this.next < this.kept.length && this.size < size) this.append(MISSING);
    for (const one of this.kept.slice(this.next)) {
      const { size: kept, file } = one;
      this.reportUnsigned(one);
      this.report(`the log has ${size} events, but the checkpoint in ${file} is of ${kept}: its tail is lost`);
    }
  }

  private append(leaf: Buffer): void {
    this.tree.add(leaf);
    this.size += 1;
    if (this.size % FORGET_EVERY === 0) this.tree.takeChanged();
    for (let one = this.kept[this.next]; one?.size === this.size; one = this.kept[this.next]) {
      this.reportUnsigned(one);
      this.compare(one);
      this.next += 1;
    }
  }

  private reportUnsigned({ size, file, isSigned }: KeptCheckpoint): void {
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
