import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inBytes, NULL_TEXT, printerOf, timeOf, unescaped } from './copy-text.js';

const text = printerOf('text');

describe('the text of COPY', () => {
  it('gives every text back', () => {
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (any) => any.includes('\0') || unescaped(text(any)) === any));
  });

  it('keeps fields and lines apart, and null from its name', () => {
    expect(text('a\tb\nc\\d\re')).toBe('a\\tb\\nc\\\\d\\re');
    expect([text(null), text('\\N')]).toEqual([NULL_TEXT, '\\\\N']);
  });

  it('prints values as PostgreSQL does', () => {
    expect(['true', 'false'].map((value) => printerOf('boolean')(value === 'true'))).toEqual(['t', 'f']);
    expect(printerOf('integer')(42)).toBe('42');
    const time = printerOf('timestamp with time zone');
    expect(['2026-01-02T03:04:05.120Z', '2026-01-02T03:04:00.000Z'].map(time)).toEqual([
      '2026-01-02 03:04:05.12+00',
      '2026-01-02 03:04:00+00',
    ]);
    expect(printerOf('text[]')(['a:b', '', 'null', 'a b', '{', 'q"', '\\'])).toBe(
      '{a:b,"","null","a b","{","q\\\\"","\\\\\\\\"}',
    );
    expect(printerOf('jsonb')({ bb: [1, null], a: { é: 'x"' } })).toBe('{"a": {"é": "x\\\\""}, "bb": [1, null]}');
  });

  it('reads times to the millisecond', () => {
    expect(timeOf('2026-01-02 03:04:05.123999+00')).toEqual(new Date('2026-01-02T03:04:05.123Z'));
    expect(timeOf('2026-01-02 03:04:05+00')).toEqual(new Date('2026-01-02T03:04:05.000Z'));
  });

  it('orders as bytes do, not as UTF-16 does', () => {
    expect(['\u{ff5e}', '\u{1f600}', 'a', ''].sort(inBytes)).toEqual(['', 'a', '\u{ff5e}', '\u{1f600}']);
  });
});
