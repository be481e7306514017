import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCompactObject, rangeOf } from './compact-json.js';

/** The definition. */
function isExact(text: string): boolean {
  try {
    const value = JSON.parse(text);
    return text.startsWith('{') && JSON.stringify(value) === text;
  } catch {
    return false;
  }
}

describe('a text is compact if JSON.stringify makes it of an object', () => {
  it.each([
    '{}',
    '{"a":[],"b":{}}',
    '{"a":["x","y"],"b":null,"c":true,"d":false}',
    '{"a":"ü","b":"\u2028"}',
    '{"a":"\\n"}',
    '{"a":"{\\"team\\":\\"blue\\"}","\\\\":"\\t"}',
    '{"a":"\\u001f"}',
    '{"1":"x","a":"y"}',
    '{"a":1,"b":-0.5}',
    '{"__proto__":"x"}',
    '{"Aa":"x","BB":"their hashes are the same"}',
    '{"a":123456789012345,"b":123456789012345680,"c":0,"d":-7}',
    `{"a":${'['.repeat(100)}${']'.repeat(100)}}`,
    '{"a":"😀"}',
  ])('%s', (text) => {
    expect([isCompactObject(rangeOf(text)), isExact(text)]).toEqual([true, true]);
  });

  it.each([
    '',
    '[]',
    '"x"',
    'null',
    '{',
    '{}}',
    '{"a"}',
    '{"a":}',
    '{"a":"x",}',
    '{"a":["x",]}',
    '{"a":["x"}',
    '{"a":"x}',
    '{"a":"x\\"}',
    '{"a":-0}',
    '{"a":01}',
    '{"a":-}',
    '{"a":tru}',
    '{"a":123456789012345678}',
    `{"a":${'['.repeat(100_000)}${']'.repeat(100_000)}}`,
    '{"a":"\t"}',
    '{ }',
    '{"a":"x" }',
    '{"a":"x"}\n',
    '{"a":"x","a":"x"}',
    '{"a":{"b":"x","b":"y"}}',
    '{"a":"\\u0041"}',
    '{"a":"\\/"}',
    '{"a":"\\"\\u001F"}',
    '{"a":"\\u0022"}',
    '{"a":"\\"" }',
    '{"a":1.0}',
    '{"a":100000, "b":1e5  }',
    '{"a":1e5   }',
    '{"b":"y","1":"x"}',
    '{"b":"y","10":"x"}',
    '{"a":{"b":"y","0":"x"}}',
    '{"__proto__":"x","__proto__":"y"}',
    '{"a":"\ud800"}',
  ])('not %s', (text) => {
    expect([isCompactObject(rangeOf(text)), isExact(text)]).toEqual([false, false]);
  });

  it('of every object, also after something was added anywhere', () => {
    const additions = fc.constantFrom('', ' ', '\n', ',"a":0', '0', '\\/', '\\u0061', '}', '"');
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), additions, (value, at, added) => {
        const compact = JSON.stringify(value);
        const place = at % (compact.length + 1);
        const text = compact.slice(0, place) + added + compact.slice(place);
        expect(isCompactObject(rangeOf(text))).toBe(isExact(text));
      }),
    );
  });
});
