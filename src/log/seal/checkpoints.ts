import type { CheckpointKey } from './checkpoint-key.js';

/** Whether this instance signs checkpoints, and what it found wrong. */
export class Checkpoints {
  /** Accounts whose log is shorter than a checkpoint of it. */
  readonly lostTails = new Set<string>();

  /** `key`: undefined while checkpoints are off. */
  constructor(readonly key: CheckpointKey | undefined) {}

  /** For an operator, without the names of accounts. */
  get state(): string {
    if (this.key === undefined) return 'off: CHECKPOINT_KEY is not set';
    if (this.lostTails.size > 0) return `the logs of ${this.lostTails.size} accounts have lost events that were signed`;
    return 'on';
  }
}
