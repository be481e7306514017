import { quotable } from '../../api/service-log/redaction.js';
import { UsageError } from '../../kernel/operator-error.js';

const UNITS_MS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const DURATION = /^(\d{1,6})([smhdw])$/;
const TIME = /^\d{4}-\d\d-\d\d(T\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d))?$/;
const FORMS = 'write 30d, 12h or 15m, a date in UTC such as 2026-11-21, or a time such as 2026-11-21T11:45:00Z';

/** A time from now on: `30d`, a date or an RFC 3339 time. Returns RFC 3339. Throws UsageError. */
export const parseLater = (text: string): string => timeOf(text, 1);

/** A time until now: `7d` is a week ago. */
export const parseEarlier = (text: string): string => timeOf(text, -1);

function timeOf(text: string, sign: 1 | -1): string {
  const [, count, unit = ''] = DURATION.exec(text) ?? [];
  if (count !== undefined) return new Date(Date.now() + sign * Number(count) * (UNITS_MS[unit] ?? 0)).toISOString();
  if (TIME.test(text) && !Number.isNaN(Date.parse(text))) return new Date(text).toISOString();
  throw new UsageError(`'${quotable(text)}' is no time that this command knows; ${FORMS}`);
}

/** How long ago, for a table: `5m`, `3h`, `2d`. */
export function agoOf(time: string, now = Date.now()): string {
  const ms = Math.max(0, now - Date.parse(time));
  const [unit = 's', unitMs = 1_000] =
    Object.entries(UNITS_MS).findLast(([name, size]) => name !== 'w' && ms >= size) ?? [];
  return `${Math.floor(ms / unitMs)}${unit}`;
}
