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

/** What can be wrong with a log that was signed. `checkpoints`: newer ones are missing. */
export type Loss = 'tail' | 'checkpoints' | 'events' | 'tiles';

/** That a log is not the one that was signed. */
export interface Alarm {
  readonly accountId: string;
  readonly loss: Loss;
  /** The size of the checkpoint, or the position, that was signed; 0 for tiles. */
  readonly signed: number;
  /** Names what was found, so that an operator can accept it for good. '': it is raised again while it lasts. */
  readonly mark: string;
  readonly what: string;
}

/** Names a finding by its hashes: those of events that were not signed, or the root of a checkpoint that was. */
export const markOf = (...found: readonly Buffer[]): string => hash('sha256', Buffer.concat(found));

/** The numbers of alarms of an account. */
export interface AlarmCounts {
  readonly accountId: string;
  readonly open: number;
  readonly ended: number;
}

/** An alarm that is open already, or that an operator has accepted, is not raised again. */
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

/** The alarms of the logs: rows, which every instance sees, and which outlive them all. */
export class LogAlarms {
  constructor(private readonly connections: Connections) {}

  /** False if the alarm is open already, or was ended with the same mark. */
  async raise({ accountId, loss, signed, mark, what }: Alarm): Promise<boolean> {
    const values = [accountId, loss, signed, mark, what];
    return (await queryNamed(this.connections, RAISE, values, WRITE_LIMITS)).rowCount === 1;
  }

  /** Of the accounts that have, or had, an alarm. */
  async counts(): Promise<readonly AlarmCounts[]> {
    return (await queryNamed<AlarmCounts & object>(this.connections, COUNTS, [])).rows;
  }
}

export interface StoredAlarm extends Pick<Alarm, 'loss' | 'what'> {
  readonly account: string;
}

/**
 * Ends the open alarms of these accounts, all or those of one loss, and returns them. The client's role must own the
 * table: the role of the service may raise an alarm, and not end it.
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
