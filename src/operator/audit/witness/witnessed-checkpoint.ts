import {
  accountOf,
  type Checkpoint,
  isConsistent,
  parseSignedCheckpoint,
  type VerifierKey,
} from '../../../event-log/index.js';

/** The service shows another history than the one that was witnessed. The message is a sentence for the operator. */
export class Refusal extends Error {
  override name = 'Refusal';

  constructor(
    message: string,
    /** The checkpoint that contradicts what was witnessed. */
    readonly evidence?: { readonly note: string; readonly isSigned: boolean },
  ) {
    super(message);
  }
}

/** Reads a checkpoint that this key of the log must have signed, or throws Refusal. `kept`: the checkpoint before. */
export function readWitnessed(note: string, key: VerifierKey, kept?: Checkpoint): Checkpoint {
  const parsed = parseSignedCheckpoint(note);
  if (parsed === undefined) throw new Refusal('the answer is not a signed checkpoint');
  const { checkpoint } = parsed;
  const { origin } = checkpoint;
  if (origin !== key.name) throw ofOtherLog(checkpoint, key, note, kept);
  if (!parsed.isSignedBy(key)) throw new Refusal(`the checkpoint of ${origin} is not signed by the key of this log`);
  return checkpoint;
}

/** After a change of the key the account is the same, and the sizes tell whether events were lost. */
function ofOtherLog(newest: Checkpoint, { name }: VerifierKey, note: string, kept: Checkpoint | undefined): Refusal {
  const what = `the checkpoint belongs to ${JSON.stringify(newest.origin)}, but the witnessed log is ${name}`;
  if (kept === undefined || accountOf(newest) !== accountOf(kept)) return new Refusal(what);
  const sizes = `The account has another key now, and ${newest.size} events; it had ${kept.size}`;
  const verdict =
    newest.size < kept.size ? 'Events that were signed are lost' : 'After a planned change begin with a new --folder';
  return new Refusal(`${what}. ${sizes}. ${verdict}`, { note, isSigned: false });
}

/** Throws Refusal if the newest checkpoint contradicts the kept one. True if only a proof can show that it does not. */
export function needsProof(kept: Checkpoint, newest: Checkpoint, note: string): boolean {
  if (newest.size < kept.size) {
    throw new Refusal(
      `the log got shorter: it has ${newest.size} events, and had ${kept.size}. Events that were signed are lost`,
      { note, isSigned: true },
    );
  }
  if (newest.size > kept.size) return true;
  if (newest.root.equals(kept.root)) return false;
  throw new Refusal(`the history changed: there are two different checkpoints of ${kept.size} events`, {
    note,
    isSigned: true,
  });
}

/** Throws Refusal unless the proof shows that the log has only grown. */
export function checkProof(
  kept: Checkpoint,
  newest: Checkpoint,
  proof: readonly Buffer[] | undefined,
  note: string,
): void {
  if (proof !== undefined && isConsistent(kept, newest, proof)) return;
  const what = `the log of ${kept.size} events, which was witnessed, is not the beginning of the log of ${newest.size}`;
  throw new Refusal(`the history changed: ${what}`, { note, isSigned: true });
}
