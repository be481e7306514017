import type { StoredCheckpoint } from '../transparency/seal/sealed-logs.js';
import { type Checkpoint, parseSignedCheckpoint } from '../transparency/tree/checkpoint.js';
import type { VerifierKey } from '../transparency/tree/signed-note.js';

/** Gets what is wrong with checkpoints, in words, and how many checkpoints a key has signed that is not known. */
export interface SignatureReport {
  readonly fault: (what: string) => void;
  readonly unchecked?: ((key: string, checkpoints: number) => void) | undefined;
}

/** Checks who has signed the checkpoints of one log, in the order of their sizes. */
export class Signatures {
  /** The index of the newest key that has signed a checkpoint so far. */
  private latest = -1;
  /** The checkpoints of keys that are not known, before the first one of a known key: how many, and the last size. */
  private readonly unknown = new Map<string, { readonly count: number; readonly size: number }>();

  constructor(
    /** The keys, oldest first. One of them must have signed each checkpoint. None: signatures are not checked. */
    private readonly keys: readonly VerifierKey[],
    private readonly report: SignatureReport,
  ) {}

  /**
   * Whether a known key has signed the checkpoint. Reports what is wrong with a signature. A key must not sign after its
   * successor, because it may have leaked.
   */
  isSigned({ size, note }: StoredCheckpoint): boolean {
    const signed = parseSignedCheckpoint(note);
    const by = this.keys.findLastIndex((key) => signed?.isSignedBy(key) === true);
    const isKnown = this.keys.length === 0 || by !== -1;
    if (signed?.checkpoint.size !== size || (!isKnown && this.isOfKnownName(signed.checkpoint)))
      return this.isWrong(size, 'its signature is wrong');
    if (!isKnown) return this.setAside(signed.checkpoint);
    this.latest = Math.max(by, this.latest);
    if (by === this.latest) return true;
    const [name, latest] = [by, this.latest].map((at) => this.keys[at]?.name);
    return this.isWrong(size, `signed by ${name} after a checkpoint of ${latest}`);
  }

  /**
   * To be called after the last checkpoint. A checkpoint of a known key covers all events before it, so earlier ones
   * need no check. If none follows, they prove nothing.
   */
  end(): void {
    for (const [key, { count, size }] of this.unknown) {
      if (this.latest !== -1) this.report.unchecked?.(key, count);
      else this.isWrong(size, `signed by the key ${key}, which is not known`);
    }
  }

  /** After a checkpoint of a known key no other key may sign. */
  private isOfKnownName({ origin }: Checkpoint): boolean {
    return this.latest !== -1 || this.keys.some(({ name }) => name === origin);
  }

  private setAside({ origin, size }: Checkpoint): false {
    const key = origin.replace(/\/[^/]*$/, '');
    this.unknown.set(key, { count: (this.unknown.get(key)?.count ?? 0) + 1, size });
    return false;
  }

  private isWrong(size: number, what: string): false {
    this.report.fault(`the checkpoint of ${size} events: ${what}`);
    return false;
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
