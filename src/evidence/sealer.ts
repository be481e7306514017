import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import { messageOf } from '../error-message.js';
import type { CheckpointKey } from '../log/seal/checkpoint-key.js';
import type { Checkpoints } from '../log/seal/checkpoints.js';
import { seal } from '../log/seal/seal.js';
import type { SealedLogs, UnsealedLog } from '../log/seal/sealed-logs.js';

const SEAL_EVERY_MS = 1_000;

/**
 * Seals what is new, every second in a thousand logs, which are all of most deployments. Every instance does so; the
 * tables let one of them through.
 */
export class Sealer implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger('Sealer');
  private timer: NodeJS.Timeout | undefined;
  private running: Promise<void> | undefined;
  private isStopping = false;
  /** The account after which the next round looks. */
  private after = '';
  /** What this instance has seen sealed: it signs no second history after someone removed checkpoints. */
  private readonly sealedSizes = new Map<string, number>();
  /** What was reported of each account, so that a lasting fault is one line. */
  private readonly reported = new Map<string, string>();

  constructor(
    private readonly logs: SealedLogs,
    private readonly checkpoints: Checkpoints,
  ) {}

  onApplicationBootstrap(): void {
    const { key } = this.checkpoints;
    if (key !== undefined) this.schedule(0, key);
  }

  onModuleDestroy(): void {
    this.isStopping = true;
    clearTimeout(this.timer);
  }

  /** Nest calls it before the database closes. */
  async onApplicationShutdown(): Promise<void> {
    await this.running;
  }

  private schedule(delayMs: number, key: CheckpointKey): void {
    this.timer = setTimeout(() => {
      this.running = this.round(key)
        .catch((error: unknown) => this.report('', `no log can be sealed now; trying again: ${messageOf(error)}`))
        .finally(() => {
          if (!this.isStopping) this.schedule(SEAL_EVERY_MS, key);
        });
    }, delayMs).unref();
  }

  private async round(key: CheckpointKey): Promise<void> {
    const { logs, upTo } = await this.logs.unsealed(this.after);
    this.reported.delete('');
    this.after = upTo;
    for (const log of logs) {
      if (this.isStopping) return;
      await this.seal(log, key);
    }
  }

  private async seal(log: UnsealedLog, key: CheckpointKey): Promise<void> {
    const { accountId, size, sealed } = log;
    const before = this.sealedSizes.get(accountId) ?? 0;
    if (sealed < before) {
      this.report(accountId, `checkpoints of ${accountId} were removed: the last covered ${before} events`, 'error');
      return;
    }
    if (size < sealed) {
      this.checkpoints.lostTails.add(accountId);
      this.report(
        accountId,
        `the log of ${accountId} has ${size} events, but a checkpoint of ${sealed} was signed: its tail is lost`,
        'error',
      );
      return;
    }
    try {
      this.sealedSizes.set(accountId, await seal(this.logs, key, log));
      this.reported.delete(accountId);
    } catch (error) {
      this.report(accountId, `the log of ${accountId} cannot be sealed: ${messageOf(error)}`);
    }
  }

  private report(accountId: string, what: string, level: 'warn' | 'error' = 'warn'): void {
    if (this.reported.get(accountId) !== what) this.logger[level](what);
    this.reported.set(accountId, what);
  }
}
