import { Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Ref } from '../../../database/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { Problem } from '../../../kernel/problem.js';
import { PeriodicTask } from '../../instance/periodic-task.js';
import { OwnerNotDeleted, PendingRemovals } from './pending-removals.js';

const SWEEP_EVERY_MS = 1_000;

/** After this time, other owners have their turn. */
const MAX_TURN_MS = 10_000;

/**
 * Finishes the deletions of users and bots that a request did not finish, because its time was over, or its instance
 * died or lost the database. Every instance does so, from its start on.
 */
@Injectable()
export class RemovalSweeper extends PeriodicTask implements OnApplicationBootstrap {
  private readonly logger = new Logger('RemovalSweeper');
  private hasFailed = false;
  /** Owners whose deletion is not in the log or cannot be read, and who were logged. */
  private readonly skipped = new Set<string>();

  constructor(private readonly pending: PendingRemovals) {
    super(SWEEP_EVERY_MS);
  }

  onApplicationBootstrap(): void {
    this.schedule(0);
  }

  protected async round(): Promise<void> {
    while (!this.stopping.aborted) {
      const owner = await this.pending.takeDue();
      this.hasFailed = false;
      if (owner === undefined) return;
      const removed = await this.pending
        .finish(owner, AbortSignal.any([this.stopping, AbortSignal.timeout(MAX_TURN_MS)]))
        .catch((error) => this.skip(owner, error));
      if (removed > 0)
        this.logger.log(`removed ${removed} API keys and SSH credentials of ${owner.id}, which is deleted`);
    }
  }

  /**
   * The row of the owner stays, and the sweep goes on with other owners. A line for each owner tells the operator which
   * event is damaged, or which row is forged.
   */
  private skip({ id, accountId }: Ref, error: unknown): number {
    const line = lineOf(error, `what ${id} of ${accountId} owns cannot be removed: its deletion`);
    if (!this.skipped.has(id)) this.logger.error(line);
    this.skipped.add(id);
    return 0;
  }

  /** Logs one line for an outage, however long it lasts. */
  protected failed(error: unknown): void {
    if (!this.hasFailed) {
      this.logger.warn(`what deleted users and bots own cannot be removed now; trying again: ${messageOf(error)}`);
    }
    this.hasFailed = true;
  }
}

function lineOf(error: unknown, what: string): string {
  if (error instanceof OwnerNotDeleted) return `ALARM: ${error.message}`;
  if (error instanceof Problem && error.problem === 'event_unreadable') return `${what}: ${error.message}`;
  throw error;
}
