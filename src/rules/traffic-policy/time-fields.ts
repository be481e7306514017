const DAY_MS = 86_400_000;

/** What the functions of CEL say about a date, by its fields in UTC. */
export const TIME_FIELDS = {
  getFullYear: (date: Date) => date.getUTCFullYear(),
  getMonth: (date: Date) => date.getUTCMonth(),
  getDate: (date: Date) => date.getUTCDate(),
  getDayOfMonth: (date: Date) => date.getUTCDate() - 1,
  getDayOfWeek: (date: Date) => date.getUTCDay(),
  getDayOfYear: (date: Date) => Math.floor((date.getTime() - startOfYear(date)) / DAY_MS),
  getHours: (date: Date) => date.getUTCHours(),
  getMinutes: (date: Date) => date.getUTCMinutes(),
  getSeconds: (date: Date) => date.getUTCSeconds(),
  getMilliseconds: (date: Date) => date.getUTCMilliseconds(),
} as const;

const startOfYear = (date: Date): number => {
  const start = new Date(0);
  start.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return start.getTime();
};

/** All time zones that were named, for all policies: a few hundred exist, and one takes 50 KiB. */
const ZONES = new Map<string, Intl.DateTimeFormat>();

/** Undefined for a text that names no time zone; newer versions of Node take thousands of offsets such as +01:23 too. */
export function timeZone(name: string): Intl.DateTimeFormat | undefined {
  if (!/^[A-Za-z]/.test(name)) return undefined;
  const key = name.toLowerCase();
  const zone = ZONES.get(key) ?? newTimeZone(name);
  if (zone !== undefined) ZONES.set(key, zone);
  return zone;
}

function newTimeZone(name: string): Intl.DateTimeFormat | undefined {
  const fields = { year: 'numeric', month: 'numeric', day: 'numeric' } as const;
  const clock = { hour: 'numeric', minute: 'numeric', second: 'numeric', hourCycle: 'h23' } as const;
  try {
    return new Intl.DateTimeFormat('en-US', { ...fields, ...clock, calendar: 'gregory', timeZone: name });
  } catch {
    return undefined;
  }
}

/** The date whose fields in UTC are those of `date` in the zone. */
export function inZone(date: Date, zone: Intl.DateTimeFormat): Date {
  const parts = new Map(zone.formatToParts(date).map(({ type, value }) => [type, Number(value)]));
  const field = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  const local = new Date(0);
  local.setUTCFullYear(field('year'), field('month') - 1, field('day'));
  local.setUTCHours(field('hour'), field('minute'), field('second'), date.getUTCMilliseconds());
  return local;
}

const RFC_3339 = /^(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?(?:[Zz]|([+-])(\d\d):(\d\d))$/;

/** Undefined for a text that is not a time of RFC 3339, such as a day that its month does not have. */
export function parseTime(text: string): Date | undefined {
  const match = RFC_3339.exec(text);
  if (match === null) return undefined;
  const [year = 0, month = 0, day = 0, hours = 0, minutes = 0, seconds = 0] = match.slice(1, 7).map(Number);
  const [fraction = '', sign, offsetHours = '0', offsetMinutes = '0'] = match.slice(7);
  const time = new Date(0);
  time.setUTCFullYear(year, month - 1, day);
  if (time.getUTCMonth() !== month - 1 || time.getUTCDate() !== day || year === 0) return undefined;
  if (hours > 23 || minutes > 59 || seconds > 59 || Number(offsetHours) > 23 || Number(offsetMinutes) > 59) {
    return undefined;
  }
  const offset = (sign === '-' ? -1 : 1) * (Number(offsetHours) * 60 + Number(offsetMinutes));
  time.setUTCHours(hours, minutes - offset, seconds, Number(fraction.slice(0, 3).padEnd(3, '0')));
  return time;
}

/** The time in RFC 3339, in whole seconds. */
export const timeText = (date: Date): string => date.toISOString().replace(/\.\d+Z$/, 'Z');
