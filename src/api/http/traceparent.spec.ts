import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { readTraceId } from './preconditions.js';

const TRACE_ID = '4bf92f3577b34da6a3ce929d0e0e4736';
const PARENT_ID = '00f067aa0ba902b7';
const VALID = `00-${TRACE_ID}-${PARENT_ID}-01`;
const read = (traceparent: string | undefined): string | undefined => readTraceId({ headers: { traceparent } });

const isHex = (text: string, digits: number): boolean =>
  text.length === digits && [...text].every((character) => '0123456789abcdef'.includes(character));
const isIdOf = (text: string, digits: number): boolean => isHex(text, digits) && text !== '0'.repeat(digits);

/** The grammar of W3C Trace Context, field by field, without shared code. */
function naively(header: string): string | undefined {
  const [version, traceId, parentId, flags] = [
    [0, 2],
    [3, 35],
    [36, 52],
    [53, 55],
  ].map(([from, to]) => header.slice(from, to));
  const hasDashes = [2, 35, 52].every((at) => header[at] === '-');
  const isValid =
    hasDashes &&
    isHex(version ?? '', 2) &&
    isIdOf(traceId ?? '', 32) &&
    isIdOf(parentId ?? '', 16) &&
    isHex(flags ?? '', 2);
  if (!isValid || version === 'ff') return undefined;
  const endsWell = header.length === 55 || (version !== '00' && header[55] === '-');
  return endsWell ? traceId : undefined;
}

const hex = (digits: number) =>
  fc.string({ unit: fc.constantFrom(...'0123456789abcdef'), minLength: digits, maxLength: digits });
const id = (digits: number) => fc.oneof({ weight: 9, arbitrary: hex(digits) }, fc.constant('0'.repeat(digits)));
const wellFormed = fc
  .tuple(fc.oneof(fc.constantFrom('00', '01', 'cc', 'fe', 'ff'), hex(2)), id(32), id(16), hex(2))
  .chain(([version, traceId, parentId, flags]) =>
    fc
      .constantFrom('', '', '-', '-what-comes-later', '.', ' ', '0')
      .map((rest) => `${version}-${traceId}-${parentId}-${flags}${rest}`),
  );
/** One character is taken out, put in or replaced. */
const damaged = fc
  .tuple(wellFormed, fc.nat(60), fc.nat(1), fc.constantFrom('', '-', '0', 'a', 'A', 'g', '_', ',', 'ü'))
  .map(([header, at, taken, put]) => header.slice(0, at) + put + header.slice(at + taken));

describe('the trace-id of a request', () => {
  it('is the one in its traceparent', () => {
    expect(read(VALID)).toBe(TRACE_ID);
    expect(read(`cc-${TRACE_ID}-${PARENT_ID}-01-what-the-future-holds`)).toBe(TRACE_ID);
  });

  it.each([undefined, '', `${VALID}, ${VALID}`])(
    'is none if the header is absent, empty or sent twice: %s',
    (header) => {
      expect(read(header)).toBeUndefined();
    },
  );

  it('is what the grammar of W3C says, for any header', () => {
    const headers = fc.oneof(wellFormed, damaged, fc.string());
    let valid = 0;
    fc.assert(
      fc.property(headers, (header) => {
        const expected = naively(header);
        if (expected !== undefined) valid += 1;
        expect(read(header)).toBe(expected);
      }),
      { numRuns: 1000 },
    );
    expect(valid).toBeGreaterThan(100);
  });
});
