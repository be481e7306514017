import { Problem } from '../../kernel/problem.js';

/** What a stream that has begun says before it ends, as a JSON object like the answer to a page. Throws any other error. */
export function textOfUnreadable(error: unknown): string {
  if (!(error instanceof Problem) || error.problem !== 'event_unreadable') throw error;
  const { code: error_code, status: status_code, message: msg, details } = error;
  return JSON.stringify({ error_code, status_code, msg, details });
}
