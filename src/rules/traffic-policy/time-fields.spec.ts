import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inZone, parseTime, TIME_FIELDS, timeText, timeZone } from './time-fields.js';

type Field = keyof typeof TIME_FIELDS;

function fieldIn(field: Field, time: string, zoneName: string): number {
  const zone = timeZone(zoneName);
  if (zone === undefined) throw new Error(`${zoneName} is not a time zone`);
  return TIME_FIELDS[field](inZone(new Date(time), zone));
}

const HOUR_MS = 3_600_000;
const times = fc.date({
  min: new Date('0001-01-02T00:00:00Z'),
  max: new Date('9999-12-30T00:00:00Z'),
  noInvalidDate: true,
});

describe('a field of a time in a zone', () => {
  it.each<[field: Field, time: string, zone: string, expected: number]>([
    ['getHours', '2026-03-04T22:30:00Z', 'Europe/Berlin', 23],
    ['getHours', '2026-03-04T23:30:00Z', 'Europe/Berlin', 0],
    ['getHours', '2026-07-04T11:30:00Z', 'Europe/Berlin', 13],
    ['getHours', '2026-03-29T00:59:59Z', 'Europe/Berlin', 1],
    ['getHours', '2026-03-29T01:00:00Z', 'Europe/Berlin', 3],
    ['getMinutes', '2026-03-04T23:30:15.250Z', 'Asia/Kolkata', 0],
    ['getSeconds', '2026-03-04T23:30:15.250Z', 'Asia/Kolkata', 15],
    ['getMilliseconds', '2026-03-04T23:30:15.250Z', 'Asia/Kolkata', 250],
    ['getFullYear', '2025-12-31T23:30:00Z', 'Europe/Berlin', 2026],
    ['getMonth', '2025-12-31T23:30:00Z', 'Europe/Berlin', 0],
    ['getDate', '2025-12-31T23:30:00Z', 'Europe/Berlin', 1],
    ['getDayOfMonth', '2025-12-31T23:30:00Z', 'Europe/Berlin', 0],
    ['getDayOfWeek', '2025-12-31T23:30:00Z', 'Europe/Berlin', 4],
    ['getDayOfYear', '2025-12-31T23:30:00Z', 'Europe/Berlin', 0],
    ['getDayOfYear', '2025-12-31T22:30:00Z', 'Europe/Berlin', 364],
    ['getDayOfYear', '2026-07-01T00:00:00Z', 'UTC', 181],
  ])('%s of %s in %s is %d', (field, time, zone, expected) => {
    expect(fieldIn(field, time, zone)).toBe(expected);
  });

  it('is that of a clock nine hours ahead in Tokyo', () => {
    const since1952 = fc.date({
      min: new Date('1952-01-01T00:00:00Z'),
      max: new Date('2100-01-01T00:00:00Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(since1952, fc.constantFrom(...(Object.keys(TIME_FIELDS) as Field[])), (date, field) => {
        const ahead = new Date(date.getTime() + 9 * HOUR_MS);
        expect(fieldIn(field, date.toISOString(), 'Asia/Tokyo')).toBe(TIME_FIELDS[field](ahead));
      }),
    );
  });

  it('is none for a text that names no zone', () => {
    expect(timeZone('Europe/Nowhere')).toBeUndefined();
    expect(timeZone('')).toBeUndefined();
  });
});

describe('a time of RFC 3339', () => {
  it('is read as it is written', () => {
    fc.assert(
      fc.property(times, fc.integer({ min: -1_439, max: 1_439 }), (date, offset) => {
        const local = new Date(date.getTime() + offset * 60_000).toISOString().slice(0, -1);
        const two = (n: number): string => String(n).padStart(2, '0');
        const zone = `${offset < 0 ? '-' : '+'}${two(Math.trunc(Math.abs(offset) / 60))}:${two(Math.abs(offset) % 60)}`;
        expect(parseTime(`${local}${zone}`)).toEqual(date);
        expect(parseTime(date.toISOString())).toEqual(date);
        expect(parseTime(timeText(date))?.getTime()).toBe(Math.floor(date.getTime() / 1000) * 1000);
      }),
    );
  });

  it.each([
    '2026-02-30T00:00:00Z',
    '2026-13-01T00:00:00Z',
    '2026-00-01T00:00:00Z',
    '2026-01-01T24:00:00Z',
    '2026-01-01T00:60:00Z',
    '2026-01-01T00:00:60Z',
    '2026-01-01T00:00:00+24:00',
    '2026-01-01T00:00:00',
    '2026-01-01',
    '0000-01-01T00:00:00Z',
    'January 1, 2026 00:00:00',
    '2026-01-01 00:00:00Z',
    '',
  ])('is not %j', (text) => {
    expect(parseTime(text)).toBeUndefined();
  });
});
