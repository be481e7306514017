import {
  type Checkpoint,
  cosignNote,
  parseVerifier,
  type SignerKey,
  type VerifierKey,
  verifierText,
} from '../../../event-log/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { retry } from '../../../kernel/network/retry.js';
import { UNTIL_AVAILABLE } from '../../../kernel/network/unavailable.js';
import { OperatorError, UsageError } from '../../../kernel/operator-error.js';
import type { WitnessFolder } from './witness-folder.js';
import { checkProof, needsProof, Refusal, readWitnessed } from './witnessed-checkpoint.js';
import { NoCheckpoint, type WitnessedService } from './witnessed-service.js';

interface WitnessTimings {
  readonly pausesMs: readonly number[];
  /** How long a run with `once` waits for a service that does not answer. */
  readonly onceMs: number;
}

const TIMINGS: WitnessTimings = {
  pausesMs: [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000],
  onceMs: 30_000,
};

/** A checkpoint that was cosigned. */
export interface Witnessed {
  readonly checkpoint: Checkpoint;
  /** The size of the checkpoint that was kept before; undefined for the first one. */
  readonly before: number | undefined;
}

/** Checks that the log has only grown since the last checkpoint that it cosigned, and cosigns the newest one. */
export class Witness {
  constructor(
    private readonly service: WitnessedService,
    private readonly folder: WitnessFolder,
    private readonly key: SignerKey,
    /** Undefined: use the key in the folder, or the first time the key that the service answers. */
    private readonly logKey: VerifierKey | undefined,
    private readonly report: (line: string) => void,
    private readonly timings: WitnessTimings = TIMINGS,
  ) {}

  /** Waits for a service that does not answer. Throws Refusal if the log is not the one that was witnessed. */
  next(once: boolean, signal: AbortSignal): Promise<Witnessed> {
    const { pausesMs, onceMs } = this.timings;
    const deadline = once ? performance.now() + onceMs : undefined;
    const failed = (error: unknown, pauseMs: number | undefined): void => {
      const what = `${this.service.name} gives no checkpoint: ${messageOf(error)}`;
      if (pauseMs === undefined) throw new OperatorError(`${what}. Nothing was witnessed`);
      this.report(`${what}; asking again in ${(pauseMs / 1000).toFixed(1)} s`);
    };
    return retry(() => this.look(signal), { ...UNTIL_AVAILABLE, pausesMs, signal, deadline, failed });
  }

  private async look(signal: AbortSignal): Promise<Witnessed> {
    await this.folder.refuseOtherWitness(verifierText(this.key));
    const keptNote = await this.folder.readCheckpoint();
    const logKey = await this.knownLogKey(keptNote, signal);
    if (logKey.key.equals(this.key.key))
      throw new UsageError('the witness has the same key as the log: make another one with audit key');
    const kept = keptNote === undefined ? undefined : this.readKept(keptNote, logKey);
    const note = await this.service.checkpoint(keptNote, signal).catch((error: unknown) => {
      if (kept === undefined || !(error instanceof NoCheckpoint)) throw error;
      throw new Refusal(`the log had ${kept.size} events, and the service shows no checkpoint of it: ${error.message}`);
    });
    const newest = readWitnessed(note, logKey, kept);
    if (kept !== undefined && needsProof(kept, newest, note)) {
      checkProof(kept, newest, await this.service.consistency(kept.size, newest.size, signal), note);
    }
    if (keptNote === undefined) await this.folder.writeKeys(verifierText(logKey), verifierText(this.key));
    const cosigned = cosignNote(note, logKey, this.key, Math.floor(Date.now() / 1000));
    // If another witness of this folder was faster, check the log against the checkpoint that it has kept.
    if (!(await this.folder.replaceCheckpoint(keptNote, cosigned))) return this.look(signal);
    return { checkpoint: newest, before: kept?.size };
  }

  private async knownLogKey(kept: string | undefined, signal: AbortSignal): Promise<VerifierKey> {
    if (this.logKey !== undefined) return this.logKey;
    const text = await this.folder.readLogKey();
    if (text === undefined && kept !== undefined) {
      throw new UsageError(`the key of the log is not beside ${this.folder.checkpointPath}: give it with --log-key`);
    }
    const key = parseVerifier((text ?? (await this.service.logKey(signal))).trim());
    if (key !== undefined) return key;
    throw new UsageError(`${text === undefined ? 'the service answers' : 'log-key holds'} no key of a log`);
  }

  private readKept(note: string, logKey: VerifierKey): Checkpoint {
    try {
      return readWitnessed(note, logKey);
    } catch (error) {
      const reason = error instanceof Refusal ? error.message : String(error);
      throw new UsageError(`${this.folder.checkpointPath} is not a checkpoint of this log: ${reason}`);
    }
  }
}
