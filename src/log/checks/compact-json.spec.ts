import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isCompact } from './compact-json.js';

/** The definition. */
const isExact = (text: string): boolean => JSON.stringify(JSON.parse(text)) === text;
const verdict = (text: string): boolean => isCompact(text, JSON.parse(text));

describe('a text is compact if JSON.stringify makes it of its value', () => {
  it.each([
    '{}',
    '[]',
    '{"a":[],"b":{}}',
    '{"a":["x","y"],"b":null,"c":true,"d":false}',
    '{"a":"ü","b":"\u2028"}',
    '{"a":"\\n"}',
    '{"a":"{\\"team\\":\\"blue\\"}","\\\\":"\\t"}',
    '{"a":"\\u001f"}',
    '{"1":"x","a":"y"}',
    '{"a":1,"b":-0.5}',
    '{"__proto__":"x"}',
  ])('%s', (text) => {
    expect([verdict(text), isExact(text)]).toEqual([true, true]);
  });

  it.each([
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
    expect([verdict(text), isExact(text)]).toEqual([false, false]);
  });

  it('of every value, also after something was added anywhere', () => {
    const additions = fc.constantFrom('', ' ', '\n', ',"a":0', '0', '\\/', '\\u0061');
    fc.assert(
      fc.property(fc.jsonValue(), fc.nat(), additions, (value, at, added) => {
        const compact = JSON.stringify(value);
        const place = at % (compact.length + 1);
        const text = compact.slice(0, place) + added + compact.slice(place);
        if (isJson(text)) expect(verdict(text)).toBe(isExact(text));
      }),
    );
  });
});

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}
