import { Logger, type OnApplicationBootstrap, type OnApplicationShutdown, type OnModuleDestroy } from '@nestjs/common';
import type { Ref } from '../../database/coalesce.js';
import { messageOf } from '../../error-message.js';
import { Problem } from '../../problem.js';
import type { WorkerGroup } from '../../workers/worker-group.js';
import type { PendingRemovals } from './pending-removals.js';

const SWEEP_EVERY_MS = 1_000;

/**
 * Finishes the deletions of users and bots that an instance did not finish, because it died or lost the database.
 * Every instance does so, from its start on, its workers in turn. Without pending removals a sweep is one look-up in an
 * empty table.
 */
export class RemovalSweeper implements OnApplicationBootstrap, OnModuleDestroy, OnApplicationShutdown {
  private readonly logger = new Logger('RemovalSweeper');
  private readonly stop = new AbortController();
  private timer: NodeJS.Timeout | undefined;
  private sweeping: Promise<void> | undefined;
  private hasFailed = false;
  /** Owners whose deletion cannot be read, and was logged. */
  private readonly skipped = new Set<string>();

  constructor(
    private readonly pending: PendingRemovals,
    private readonly group: WorkerGroup,
  ) {}

  onApplicationBootstrap(): void {
    this.schedule(0);
  }

  /** Asks the sweep to end without waiting: Nest calls this before HTTP stops, and requests in flight must not wait. */
  onModuleDestroy(): void {
    this.stop.abort();
    clearTimeout(this.timer);
  }

  /** Nest calls it before the database closes. */
  async onApplicationShutdown(): Promise<void> {
    await this.sweeping;
  }

  private schedule(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.sweeping = this.sweep()
        .catch((error: unknown) => this.report(error))
        .finally(() => {
          if (!this.stop.signal.aborted) this.schedule(this.group.untilTurn(SWEEP_EVERY_MS));
        });
    }, delayMs).unref();
  }

  private async sweep(): Promise<void> {
    while (!this.stop.signal.aborted) {
      const owner = await this.pending.takeDue();
      this.hasFailed = false;
      if (owner === undefined) return;
      const removed = await this.pending
        .finish(owner, this.stop.signal)
        .catch((error) => this.skipUnreadable(owner, error));
      if (removed > 0)
        this.logger.log(`removed ${removed} API keys and SSH credentials of ${owner.id}, which is deleted`);
    }
  }

  /** Its row stays, and the other owners go on. A line for each owner tells the operator which event is damaged. */
  private skipUnreadable({ id, accountId }: Ref, error: unknown): number {
    if (!(error instanceof Problem) || error.problem !== 'event_unreadable') throw error;
    if (!this.skipped.has(id))
      this.logger.error(`what ${id} of ${accountId} owns cannot be removed: its deletion: ${error.message}`);
    this.skipped.add(id);
    return 0;
  }

  /** Logs one line for an outage, however long it lasts. */
  private report(error: unknown): void {
    if (!this.hasFailed) {
      this.logger.warn(`what deleted users and bots own cannot be removed now; trying again: ${messageOf(error)}`);
    }
    this.hasFailed = true;
  }
}
