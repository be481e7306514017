import { Inject, Injectable, Logger, type OnApplicationBootstrap } from '@nestjs/common';
import type { Pool } from 'pg';
import { Incidents, POOL } from '../../../database/index.js';
import { Checkpoints, EventLog } from '../../../event-log/index.js';
import { messageOf } from '../../../kernel/error-message.js';
import { PeriodicTask } from '../../instance/periodic-task.js';
import { RecordSeals } from './record-seals.js';

const SEAL_EVERY_MS = 30_000;

/** Every hour, seals the records that have settled. Without a key no checkpoint would sign what is sealed. */
@Injectable()
export class RecordSealer extends PeriodicTask implements OnApplicationBootstrap {
  private readonly logger = new Logger('RecordSealer');
  private readonly seals: RecordSeals;
  private reported = '';

  constructor(
    @Inject(POOL) pool: Pool,
    log: EventLog,
    private readonly checkpoints: Checkpoints,
    private readonly incidents: Incidents,
  ) {
    super(SEAL_EVERY_MS);
    this.seals = new RecordSeals(pool, log);
  }

  onApplicationBootstrap(): void {
    if (this.checkpoints.keys !== undefined) this.schedule(0);
  }

  protected async round(): Promise<void> {
    await this.seals.next(this.stopping);
    this.reported = '';
  }

  protected failed(error: unknown): void {
    if (this.incidents.failed(error)) return;
    const what = `records cannot be sealed now; trying again: ${messageOf(error)}`;
    if (this.reported !== what) this.logger.error(what);
    this.reported = what;
  }
}
