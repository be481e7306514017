import { Problem } from '../../kernel/problem.js';

/** Positions come from the log alone, so a reader that is ahead of it has read events that are lost. */
export const lostTail = (after: number, head: number): Problem =>
  new Problem(
    'log_tail_lost',
    `after is ${after}, but the log ends at position ${head}. If you have read as far, the end of the log is lost: a database ` +
      'was restored, or a failover lost changes. Keep what you have, find the last event that is also in the log, and begin after it.',
  );

/** The last message of a stream whose reader is ahead of the log. It has no id, so the reader's position stays. */
export function lastMessageOf({ problem, code, status, message }: Problem): string {
  const data = { error_code: code, status_code: status, msg: message };
  return `event: ${problem}\ndata: ${JSON.stringify(data)}\n\n`;
}
