import { PostgresFailure } from '../../database/index.js';
import { messageOf } from '../../kernel/error-message.js';
import { OperatorError } from '../../kernel/operator-error.js';

/** Makes triggers fire that wait for the commit, so that what is read back is what will be committed. */
export const FIRE_DEFERRED = 'set constraints all immediate';

const MAX_NAMED = 5;
const WAY_OUT = 'doctor names the trigger, rule or constraint that can do this; remove it, and run this command again';

/** Throws if rows are not what was written, by their tables and keys. The caller then rolls back. */
export function refuseChanged(rows: readonly string[]): void {
  if (rows.length === 0) return;
  const more = rows.length > MAX_NAMED ? ` and ${rows.length - MAX_NAMED} more` : '';
  throw new OperatorError(
    `the database changed ${rows.slice(0, MAX_NAMED).join(', ')}${more} on the way in, and they were left as they were: ${WAY_OUT}`,
  );
}

/** SQLSTATE classes of what a trigger, a rule or a constraint does to a row that is as the log makes it. */
const REFUSED = /^(0A|22|23|P0)/;

/** Turns the refusal of a row into an error for the operator. Any other error stays as it is. */
export const refusalOf = (error: unknown): unknown =>
  REFUSED.test(PostgresFailure.of(error).sqlState ?? '')
    ? new OperatorError(
        `the database refused a row (${messageOf(error)}), and nothing of its transaction was written: ${WAY_OUT}`,
      )
    : error;
