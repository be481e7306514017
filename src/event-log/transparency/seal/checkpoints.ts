import type { KeyHistory } from './checkpoint-key.js';
import type { Alarm, LogAlarms } from './log-alarms.js';

const WAY_OUT =
  'Was a database restored, did a failover lose changes, or did someone change them? See "After a loss" in docs/evidence.md';

/** Whether this instance signs checkpoints, what it has seen signed, and what any instance found wrong. */
export class Checkpoints {
  /** The largest size of each log that this instance has seen signed. The database may lose it, the process does not. */
  private readonly witnessed = new Map<string, number>();
  /** The accounts with an open alarm. */
  private open: ReadonlySet<string> = new Set();
  /** The number of ended alarms of each account. */
  private ended: ReadonlyMap<string, number> = new Map();
  /** By account, the alarms that the table has, so that a fault that lasts is written once. */
  private readonly raised = new Map<string, Set<string>>();
  /** Alarms that the table did not take yet. */
  private readonly unsaved = new Map<string, Alarm>();

  /** `keys`: undefined while checkpoints are off. */
  constructor(
    readonly keys: KeyHistory | undefined,
    private readonly alarms: LogAlarms,
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

  /** Writes what is wrong with a log to the table, and to the service's log if this instance is the first to find it. */
  async raise(alarm: Alarm): Promise<void> {
    const id = idOf(alarm);
    if (this.unsaved.has(id) || this.raised.get(alarm.accountId)?.has(id) === true) return;
    try {
      if (await this.save(alarm)) this.say(alarm);
    } catch {
      // The next round tries again, and says why if it fails too.
      if (!this.unsaved.has(id)) this.say(alarm);
      this.unsaved.set(id, alarm);
    }
  }

  private say({ what }: Alarm): void {
    this.report(`ALARM: ${what}. ${WAY_OUT}`);
  }

  /** False if the table has it already, or if it is accepted. */
  private async save(alarm: Alarm): Promise<boolean> {
    const { accountId } = alarm;
    const isNew = await this.alarms.raise(alarm);
    if (isNew) this.open = new Set([...this.open, accountId]);
    this.raised.set(accountId, (this.raised.get(accountId) ?? new Set()).add(idOf(alarm)));
    return isNew;
  }

  /**
   * Reads the alarms of all instances. What this one has seen signed of a log counts no more once an alarm of it was ended:
   * the operator has taken the log as it is.
   */
  async refresh(): Promise<void> {
    for (const [id, alarm] of this.unsaved) {
      await this.save(alarm);
      this.unsaved.delete(id);
    }
    const counts = await this.alarms.counts();
    this.open = new Set(counts.filter(({ open }) => open > 0).map(({ accountId }) => accountId));
    for (const accountId of this.raised.keys()) if (!this.open.has(accountId)) this.raised.delete(accountId);
    for (const { accountId, ended } of counts) {
      if (ended > (this.ended.get(accountId) ?? 0)) this.forget(accountId);
    }
    this.ended = new Map(counts.map(({ accountId, ended }) => [accountId, ended]));
  }

  private forget(accountId: string): void {
    this.witnessed.delete(accountId);
    this.raised.delete(accountId);
  }

  /** Nothing is signed of such a log. */
  hasAlarm(accountId: string): boolean {
    return this.lost.has(accountId);
  }

  /** The number of logs that are not the ones that were signed. */
  get lostLogs(): number {
    return this.lost.size;
  }

  private get lost(): ReadonlySet<string> {
    if (this.unsaved.size === 0) return this.open;
    return new Set([...this.open, ...[...this.unsaved.values()].map(({ accountId }) => accountId)]);
  }

  /** For an operator, without the names of accounts. */
  get state(): string {
    if (this.keys === undefined) return 'off: CHECKPOINT_KEY is not set';
    if (this.lostLogs > 0) return `ALARM: signed events are lost or changed, in ${this.lostLogs} of the logs`;
    return 'on';
  }
}

const idOf = ({ accountId, loss, signed, mark }: Alarm): string => `${accountId} ${loss} ${signed} ${mark}`;
