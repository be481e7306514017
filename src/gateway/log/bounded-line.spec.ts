import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { boundedLine, MAX_LINE_CHARACTERS } from './bounded-line.js';

const text = fc.string({ unit: 'binary', maxLength: 3_000 });
/** Texts that JSON writes with more characters than they have. */
const quoted = fc.integer({ min: 0, max: 3_000 }).map((count) => '"\\\n'.repeat(count));
const fields = fc.dictionary(fc.constantFrom('source', 'client', 'target', 'reason'), fc.oneof(text, quoted, fc.nat()));
const UNSEEN = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/u;

describe('a line of the gateway', () => {
  it('has at most 1,000 characters, and no control character, whatever its texts are', () => {
    fc.assert(
      fc.property(fields, fc.oneof(text, quoted), (given, message) => {
        const line = boundedLine(given, message);
        expect(line.characters).toBeLessThanOrEqual(MAX_LINE_CHARACTERS);
        expect(JSON.stringify([line.fields, line.message]).length).toBeLessThan(line.characters);
        expect([line.message, ...Object.values(line.fields)].filter((one) => UNSEEN.test(String(one)))).toEqual([]);
      }),
    );
  });

  it('keeps the short texts when a long one is cut', () => {
    const given = { source: '192.0.2.1', fingerprint: `SHA256:${'a'.repeat(43)}`, client: 'x'.repeat(5_000) };
    const line = boundedLine(given, 'refused a login');
    expect(line.fields).toMatchObject({ source: given.source, fingerprint: given.fingerprint });
    expect(line).toMatchObject({ message: 'refused a login' });
  });

  it('stays as it is if it is short', () => {
    const given = { source: '192.0.2.1', port: 22, isOpen: true };
    expect(boundedLine(given, 'a client – with ü – logged in')).toMatchObject({
      fields: given,
      message: 'a client – with ü – logged in',
    });
  });

  it('with an error keeps its type, its code and where it was thrown, and cuts the rest', () => {
    const error = Object.assign(new TypeError(`bad ${'\u001b[2J\n'.repeat(2_000)}`), { code: 'E_BAD' });
    const { fields: bounded, characters } = boundedLine({ source: 'a', err: error }, 'failed');
    const { err } = bounded as { readonly err: Error };
    expect(err).toMatchObject({ name: 'TypeError', code: 'E_BAD' });
    expect(err.stack).toMatch(/\n {4}at .*bounded-line\.spec/);
    expect(err.stack?.replaceAll('\n', '')).not.toMatch(UNSEEN);
    expect(characters).toBeLessThanOrEqual(MAX_LINE_CHARACTERS);
  });
});
