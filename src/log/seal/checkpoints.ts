import type { KeyHistory } from './checkpoint-key.js';

const WAY_OUT =
  'Was a database restored, did a failover lose changes, or did someone change them? See "After a loss" in docs/evidence.md';

/** What can be wrong with a log that was signed. `checkpoints`: newer ones are missing. */
type Loss = 'tail' | 'checkpoints' | 'events' | 'tiles';

/** Whether this instance signs checkpoints, what it knows to be signed, and what it found wrong. */
export class Checkpoints {
  /** The largest size of each log that this instance has seen signed. The database may lose it, the process does not. */
  private readonly witnessed = new Map<string, number>();
  /** The accounts whose logs are not the ones that were signed. It lasts until a restart. */
  private readonly alarms = new Set<string>();
  /** What was said of them. */
  private readonly said = new Set<string>();

  /** `keys`: undefined while checkpoints are off. */
  constructor(
    readonly keys: KeyHistory | undefined,
    private readonly report: (line: string) => void = () => undefined,
  ) {}

  witness(accountId: string, size: number): void {
    this.witnessed.set(accountId, Math.max(size, this.witnessedSize(accountId)));
  }

  witnessedSize(accountId: string): number {
    return this.witnessed.get(accountId) ?? 0;
  }

  /** The accounts of which a checkpoint is known. */
  get witnessedAccounts(): Iterable<string> {
    return this.witnessed.keys();
  }

  /** Says what is wrong with a log, once for each loss and each size that was signed, however the log goes on. */
  raise(accountId: string, { loss, signed }: { loss: Loss; signed: number }, what: string): void {
    const about = `${accountId} ${loss} ${signed}`;
    if (!this.said.has(about)) this.report(`ALARM: ${what}. ${WAY_OUT}`);
    this.said.add(about);
    this.alarms.add(accountId);
  }

  /** The number of logs that are not the ones that were signed. */
  get lostLogs(): number {
    return this.alarms.size;
  }

  /** For an operator, without the names of accounts. */
  get state(): string {
    if (this.keys === undefined) return 'off: CHECKPOINT_KEY is not set';
    if (this.alarms.size > 0) return `ALARM: signed events are lost or changed, in ${this.alarms.size} of the logs`;
    return 'on';
  }
}
