import type { StoredCheckpoint } from '../transparency/seal/sealed-logs.js';
import { parseSignedCheckpoint } from '../transparency/tree/checkpoint.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';

/** Checks who has signed the checkpoints of one log, in the order of their sizes. */
export class Signatures {
  /** The index of the newest key that has signed a checkpoint so far. */
  private latest = -1;

  constructor(
    /** The keys, oldest first. One of them must have signed each checkpoint. None: signatures are not checked. */
    private readonly keys: readonly VerifierKey[],
  ) {}

  /** Says what is wrong with a signature. A key must not sign after its successor, because it may have leaked. */
  faultOf({ size, note }: StoredCheckpoint): string | undefined {
    const signed = parseSignedCheckpoint(note);
    const by = this.keys.findLastIndex((key) => signed?.isSignedBy(key) === true);
    const isSigned = this.keys.length === 0 || by !== -1;
    if (!isSigned || signed?.checkpoint.size !== size) return 'its signature is wrong';
    this.latest = Math.max(by, this.latest);
    if (by === -1 || by === this.latest) return undefined;
    const [name, latest] = [by, this.latest].map((at) => this.keys[at]?.name);
    return `signed by ${name} after a checkpoint of ${latest}`;
  }
}

/** Says what is wrong with the place of a checkpoint that should follow the one of this size. */
export const orderFaultOf = (
  { size, follows }: { readonly size: number; readonly follows: number },
  before: number,
): string | undefined =>
  follows === before
    ? undefined
    : `the checkpoint of ${size} events follows one of ${follows} events, which is missing`;
