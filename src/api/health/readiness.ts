import { Inject, Injectable } from '@nestjs/common';
import type { Pool } from 'pg';
import {
  Incidents,
  KNOWN_MIGRATIONS,
  type NamedStatement,
  POOL,
  PostgresFailure,
  queryNamed,
} from '../../database/index.js';
import { EventLog } from '../../event-log/index.js';

/** What keeps the instance from serving, by check, for the operator. Empty: it is ready. */
export type Failures = Readonly<Partial<Record<'database' | 'migrations' | 'queue', string>>>;

interface DatabaseState {
  readonly is_writable: boolean;
  readonly applied: number;
}

/** A newer version of the service may have applied more migrations: during a rolling upgrade both serve. */
const STATE: NamedStatement = {
  name: 'readiness',
  text: `select current_setting('transaction_read_only') = 'off' as is_writable,
    (select count(*)::int from migrations where name = any($1)) as applied`,
};

/** Whether the instance can serve every kind of request now. */
@Injectable()
export class Readiness {
  private running: Promise<Failures> | undefined;

  constructor(
    @Inject(POOL) private readonly pool: Pool,
    private readonly log: EventLog,
    private readonly incidents: Incidents,
  ) {}

  /** Anyone may ask, so simultaneous calls share one look. */
  check(): Promise<Failures> {
    this.running ??= this.look().finally(() => {
      this.running = undefined;
    });
    return this.running;
  }

  private async look(): Promise<Failures> {
    const queue = this.log.isFull ? { queue: 'too many changes wait to be written' } : {};
    try {
      const { rows } = await queryNamed<DatabaseState & object>(this.pool, STATE, [KNOWN_MIGRATIONS]);
      return { ...queue, ...failuresOf(rows[0]) };
    } catch (error) {
      this.incidents.failed(error);
      if (!PostgresFailure.of(error).isConnectionLoss) throw error;
      return { ...queue, database: 'the database does not answer' };
    }
  }
}

function failuresOf({ is_writable = false, applied = 0 }: Partial<DatabaseState> = {}): Failures {
  const pending = KNOWN_MIGRATIONS.length - applied;
  return {
    ...(!is_writable && { database: 'the database is read-only' }),
    ...(pending > 0 && { migrations: `${pending} of ${KNOWN_MIGRATIONS.length} migrations are pending` }),
  };
}
