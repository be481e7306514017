import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import { Incidents } from '../../../database/index.js';
import {
  Checkpoints,
  type KeyHistory,
  type LogState,
  Rechecks,
  SealedLogs,
  seal,
  TilesDamaged,
  UnknownKey,
} from '../../../event-log/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { PeriodicTask } from '../../instance/periodic-task.js';

const SEAL_EVERY_MS = 1_000;
/** Keys of `reported` that stand for no account. */
const RECHECKS = 'rechecks';
const KEYS = 'keys';
const WRONG_SIGNATURE = (size: number): string =>
  `it is shorter than a stored checkpoint of ${size} events, which has a wrong signature`;

/**
 * Every second, seals what is new in the next thousand logs, and rechecks a part of what was signed. Every instance
 * does so: the tables let one of them through, and each remembers what it saw signed. Nothing of a log with an open
 * alarm is signed.
 */
@Injectable()
export class Sealer extends PeriodicTask implements OnApplicationBootstrap {
  private readonly logger = new Logger('Sealer');
  /** The account after which the next round looks. */
  private after = '';
  /** Accounts with a known checkpoint that this pass over all logs has not met yet. */
  private unseen = new Set<string>();
  /** Why each log cannot be sealed, so that a lasting fault is one line. */
  private readonly reported = new Map<string, string>();
  private readonly rechecks: Rechecks;

  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
    private readonly incidents: Incidents,
  ) {
    super(SEAL_EVERY_MS);
    this.rechecks = new Rechecks(logs, checkpoints);
  }

  onApplicationBootstrap(): void {
    if (this.checkpoints.keys !== undefined) this.schedule(0);
  }

  protected failed(error: unknown): void {
    if (!this.incidents.failed(error)) this.report('', `no log can be sealed now; trying again: ${messageOf(error)}`);
  }

  protected async round(): Promise<void> {
    const { keys } = this.checkpoints;
    if (keys === undefined) return;
    await this.checkpoints.refresh();
    if (this.after === '') this.unseen = new Set(this.checkpoints.rememberedAccounts);
    const { logs, upTo } = await this.logs.states(this.after);
    this.reportEnd('', 'the logs are sealed again');
    this.after = upTo;
    for (const log of logs) {
      if (this.stopping.aborted) return;
      this.unseen.delete(log.accountId);
      await this.look(log, keys);
    }
    if (upTo === '') for (const accountId of this.unseen) await this.isWhole({ accountId, size: 0, sealed: 0 });
    await this.recheck(keys);
  }

  private async recheck(keys: KeyHistory): Promise<void> {
    try {
      await this.rechecks.next(keys);
      this.reportEnd(RECHECKS, 'what was signed can be compared again');
    } catch (error) {
      if (this.incidents.failed(error)) return;
      this.report(RECHECKS, `what was signed cannot be compared now; trying again: ${messageOf(error)}`);
    }
  }

  private async look(log: LogState, keys: KeyHistory): Promise<void> {
    const { accountId, size, sealed } = log;
    const isNew = sealed > this.checkpoints.rememberedSize(accountId);
    // Anyone who may insert a row can claim that more was signed.
    if (isNew && size < sealed && !(await this.isSigned(log, keys))) {
      return this.report(accountId, `the log of ${accountId} cannot be sealed: ${WRONG_SIGNATURE(sealed)}`);
    }
    // A checkpoint that the log has outgrown counts once `seal` has compared its root with the tiles.
    if (isNew && size <= sealed) this.checkpoints.remember(accountId, sealed);
    const isWhole = await this.isWhole(log);
    if (isWhole && size > sealed && !this.checkpoints.hasAlarm(accountId)) await this.seal(log, keys);
  }

  private async isSigned({ accountId, sealed }: LogState, keys: KeyHistory): Promise<boolean> {
    const last = await this.logs.lastCheckpoint(accountId);
    return last?.size === sealed && keys.signedIn(last.note, accountId)?.size === sealed;
  }

  /** Whether all that was signed is still there. If not, it raises the alarm, and no second history is signed. */
  private async isWhole({ accountId, size, sealed }: LogState): Promise<boolean> {
    const remembered = this.checkpoints.rememberedSize(accountId);
    if (size >= remembered && sealed >= remembered) return true;
    const isShort = size < remembered;
    const lost = isShort ? `it has ${size} events: its tail is lost` : `its last checkpoint here is of ${sealed}`;
    await this.checkpoints.raise({
      accountId,
      loss: isShort ? 'tail' : 'checkpoints',
      signed: remembered,
      mark: '',
      what: `a checkpoint of ${remembered} events of the log of ${accountId} was signed, but ${lost}`,
    });
    return false;
  }

  private async seal(log: LogState, keys: KeyHistory): Promise<void> {
    const { accountId } = log;
    try {
      this.checkpoints.remember(accountId, await seal(this.logs, keys, log, this.stopping));
      this.reportEnd(accountId, `the log of ${accountId} is sealed again`);
    } catch (error) {
      if (this.incidents.failed(error)) return;
      // One line for all logs: a change of key is on its way.
      if (error instanceof UnknownKey) return this.report(KEYS, error.message);
      const what = `the log of ${accountId} cannot be sealed: ${messageOf(error)}`;
      if (!(error instanceof TilesDamaged)) return this.report(accountId, what);
      await this.checkpoints.raise({ accountId, loss: 'tiles', signed: 0, mark: '', what });
    }
  }

  /** Logs an error once, since it lasts until a person repairs it. */
  private report(accountId: string, what: string): void {
    if (this.reported.get(accountId) !== what) this.logger.error(what);
    this.reported.set(accountId, what);
  }

  private reportEnd(accountId: string, what: string): void {
    if (this.reported.delete(accountId)) this.logger.log(what);
  }
}
