import { malformed, quoted } from '../../../kernel/problem.js';

/** When something expires; null or absent: never. The database's clock says whether it has expired. */
export interface Expiring {
  readonly expires_at?: Date | null;
}

/** The data of the event that sets or removes an expiry. The time is RFC 3339, UTC, milliseconds. */
export interface ExpiryChange {
  readonly expires_at: string | null;
}

/** The state that an event leaves. */
export const expiryOf = ({ expires_at }: ExpiryChange): Required<Expiring> => ({
  expires_at: expires_at === null ? null : new Date(expires_at),
});

/** The event of a new expiry; no event if the expiry stays the same. Throws request_malformed for a time before `at`. */
export function expiryEvents<Type extends string>(
  type: Type,
  { wanted, at }: { readonly wanted: Date | null; readonly at: Date },
  { expires_at = null }: Expiring,
): { readonly type: Type; readonly data: ExpiryChange }[] {
  if (wanted?.getTime() === expires_at?.getTime()) return [];
  refusePast(wanted, at);
  return [{ type, data: { expires_at: wanted?.toISOString() ?? null } }];
}

const TIME = /^(\d{4}-\d\d-\d\d)T([01]\d|2[0-3]):[0-5]\d:[0-5]\d(\.\d+)?(Z|[+-]([01]\d|2[0-3]):[0-5]\d)$/i;
/** The years that PostgreSQL, sshd and a text with four digits of a year have in common. */
const [MIN_TIME, MAX_TIME] = [0, Date.UTC(10_000, 0) - 1];

/** Mostly a mistake: a wrong year, or another time zone. The time now tells a caller whose clock is behind. */
export function refusePast(expiresAt: Date | null, now: Date): void {
  if (expiresAt === null || expiresAt >= now) return;
  throw malformed(`expires_at ${quoted(expiresAt.toISOString())} is in the past; it is now ${now.toISOString()}.`);
}

/** Throws request_malformed. */
export function parseExpiry(text: string | undefined): Date {
  if (text !== undefined) return parseTime('expires_at', text);
  throw malformed('expires_at is missing; send an RFC 3339 time. DELETE removes the expiry.');
}

/** Reads an RFC 3339 time, and drops what is finer than a millisecond. Throws request_malformed, which names the field. */
export function parseTime(field: string, text: string): Date {
  const [, day = ''] = TIME.exec(text) ?? [];
  const time = new Date(text.toUpperCase());
  // Date takes February 30th for March 2nd.
  if (day === '' || !new Date(`${day}T00:00Z`).toJSON()?.startsWith(day)) {
    throw malformed(`${field} ${quoted(text)} is not an RFC 3339 time such as 2026-11-21T11:45:07Z.`);
  }
  if (time.getTime() >= MIN_TIME && time.getTime() <= MAX_TIME) return time;
  throw malformed(`${field} ${quoted(text)} is not within the years 1970 to 9999.`);
}
