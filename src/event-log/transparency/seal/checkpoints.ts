import type { KeyHistory } from './checkpoint-key.js';
import type { Alarm, LogAlarms } from './log-alarms.js';

const WAY_OUT =
  'Was a database restored, did a failover lose changes, or did someone change them? See "After a loss" in docs/evidence.md';

/** The keys of this instance, the sizes that it has seen signed, and the alarms of all instances. */
export class Checkpoints {
  /**
   * The largest size of each log that this instance has seen signed. The process remembers it even if the database
   * loses it.
   */
  private readonly remembered = new Map<string, number>();
  /** The accounts with an open alarm. */
  private open: ReadonlySet<string> = new Set();
  /** The number of ended alarms of each account. */
  private ended: ReadonlyMap<string, number> = new Map();
  /** The alarms that are in the table, by account. A lasting fault is thus written once. */
  private readonly raised = new Map<string, Set<string>>();
  /** Alarms that are not in the table yet, because the write failed. */
  private readonly unsaved = new Map<string, Alarm>();

  /** `keys` is undefined while checkpoints are off. */
  constructor(
    readonly keys: KeyHistory | undefined,
    private readonly alarms: LogAlarms,
    private readonly report: (line: string) => void = () => undefined,
  ) {}

  remember(accountId: string, size: number): void {
    this.remembered.set(accountId, Math.max(size, this.rememberedSize(accountId)));
  }

  rememberedSize(accountId: string): number {
    return this.remembered.get(accountId) ?? 0;
  }

  /** The accounts whose size is remembered. */
  get rememberedAccounts(): Iterable<string> {
    return this.remembered.keys();
  }

  /** Writes an alarm to the table. Writes it to the service's log too if this instance is the first to find it. */
  async raise(alarm: Alarm): Promise<void> {
    const id = idOf(alarm);
    if (this.unsaved.has(id) || this.raised.get(alarm.accountId)?.has(id) === true) return;
    try {
      if (await this.save(alarm)) this.say(alarm);
    } catch {
      // The next round tries again, and reports the error if that fails too.
      if (!this.unsaved.has(id)) this.say(alarm);
      this.unsaved.set(id, alarm);
    }
  }

  private say({ what }: Alarm): void {
    this.report(`ALARM: ${what}. ${WAY_OUT}`);
  }

  /** Returns false if the alarm is in the table already, or if an operator has accepted it. */
  private async save(alarm: Alarm): Promise<boolean> {
    const { accountId } = alarm;
    const isNew = await this.alarms.raise(alarm);
    if (isNew) this.open = new Set([...this.open, accountId]);
    this.raised.set(accountId, (this.raised.get(accountId) ?? new Set()).add(idOf(alarm)));
    return isNew;
  }

  /**
   * Reads the alarms of all instances. When an operator has ended an alarm of a log, the log is accepted as it is, so
   * this instance forgets the size that it remembers.
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
    this.remembered.delete(accountId);
    this.raised.delete(accountId);
  }

  /** Whether the log has an open alarm. Such a log gets no checkpoints. */
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

  /** The state in words for an operator. It names no account. */
  get state(): string {
    if (this.keys === undefined) return 'off: CHECKPOINT_KEY names no key';
    if (this.lostLogs > 0) return `ALARM: signed events are lost or changed, in ${this.lostLogs} of the logs`;
    return 'on';
  }
}

const idOf = ({ accountId, loss, signed, mark }: Alarm): string => `${accountId} ${loss} ${signed} ${mark}`;
