import { hash } from 'node:crypto';
import type { ClientBase } from 'pg';
import {
  type Connections,
  type NamedStatement,
  PostgresFailure,
  queryNamed,
  WRITE_LIMITS,
} from '../../../database/index.js';
import { OperatorError } from '../../../kernel/operator-error.js';

/** The part of a signed log that is lost or changed. `checkpoints` means that the newest checkpoints are missing. */
export type Loss = 'tail' | 'checkpoints' | 'events' | 'tiles';

/** A finding that a log is not the one that was signed. */
export interface Alarm {
  readonly accountId: string;
  readonly loss: Loss;
  /** The size of the signed checkpoint, or the signed position. It is 0 for tiles. */
  readonly signed: number;
  /**
   * Identifies the finding, so that an operator can accept it for good. If it is '', nobody can: an ended alarm is
   * raised once more if the finding is still there.
   */
  readonly mark: string;
  readonly what: string;
}

/**
 * The mark of a finding, from the hashes of events that were not signed or the root of a checkpoint that was signed.
 */
export const markOf = (...found: readonly Buffer[]): string => hash('sha256', Buffer.concat(found));

/** The numbers of alarms of an account. */
export interface AlarmCounts {
  readonly accountId: string;
  readonly open: number;
  readonly ended: number;
}

/** Does not raise an alarm again that is open, or that an operator has accepted. */
const RAISE: NamedStatement = {
  name: 'raise_alarm',
  text: `insert into log_alarms (account_id, loss, signed, mark, what)
    select $1::text, $2::text, $3::bigint, $4::text, $5::text where $4 = '' or not exists (
      select from log_alarms where account_id = $1 and mark = $4 and ended_at is not null)
    on conflict (account_id, loss, signed, mark) where ended_at is null do nothing`,
};

const COUNTS: NamedStatement = {
  name: 'count_alarms',
  text: `select account_id as "accountId", count(*) filter (where ended_at is null)::int as open, count(ended_at)::int as ended
    from log_alarms group by account_id`,
};

/** The alarms of the logs. They are rows, so every instance sees them, and they outlive all instances. */
export class LogAlarms {
  constructor(private readonly connections: Connections) {}

  /** Raises an alarm. Returns false if it is open already, or was ended with the same mark. */
  async raise({ accountId, loss, signed, mark, what }: Alarm): Promise<boolean> {
    const values = [accountId, loss, signed, mark, what];
    return (await queryNamed(this.connections, RAISE, values, WRITE_LIMITS)).rowCount === 1;
  }

  /** The numbers for each account that has, or had, an alarm. */
  async counts(): Promise<readonly AlarmCounts[]> {
    return (await queryNamed<AlarmCounts & object>(this.connections, COUNTS, [])).rows;
  }
}

export interface StoredAlarm extends Pick<Alarm, 'loss' | 'what'> {
  readonly account: string;
}

/**
 * Ends the open alarms of these accounts, and returns them: all alarms, or those of one loss. The client's role must
 * own the table, because the role of the service may raise alarms but not end them.
 */
export async function endAlarms(
  client: ClientBase,
  { accounts, loss }: { readonly accounts: readonly string[]; readonly loss?: Loss },
  reason: string,
): Promise<readonly StoredAlarm[]> {
  try {
    return (await client.query<StoredAlarm>(END, [accounts, loss ?? null, reason])).rows;
  } catch (error) {
    if (!PostgresFailure.of(error).lacksPrivilege) throw error;
    throw new OperatorError(
      'only the owner of the tables may end an alarm: set MIGRATION_DATABASE_URL, with the role that owns them',
    );
  }
}

const END = `update log_alarms set ended_at = clock_timestamp(), reason = $3
  where account_id = any($1) and ($2::text is null or loss = $2) and ended_at is null
  returning account_id as account, loss, what`;
