import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Problem } from '../../kernel/problem.js';
import { parseJsonBody } from './json-body.js';

const parse = (text: string | Buffer) => () => parseJsonBody(Buffer.isBuffer(text) ? text : Buffer.from(text));

describe('parseJsonBody', () => {
  it('parses the same value as JSON.parse', () => {
    fc.assert(
      fc.property(
        fc.json({ stringUnit: 'grapheme' }).filter((t) => !/\\u0000|\\ud[89a-f]|__proto__/i.test(t)),
        (text) => {
          expect(parse(text)()).toEqual(JSON.parse(text));
        },
      ),
    );
  });

  it.each([
    ['{"a":1,"a":2}', 'the field a'],
    ['{"a":{"b":1,"b":1}}', 'the field b'],
    ['[{"a":1},{"a":1,"\\u0061":2}]', 'the field a'],
    ['{"a":{"a":1},"b":"a","c":[{"a":1},{"a":1}],"c":2}', 'the field c'],
    ['{"__proto__":1,"__proto__":2}', 'the field __proto__'],
    ['{"OPENSSH-SECRET":1,"OPENSSH-SECRET":2,"OTHER":3}', 'a field'],
  ])('refuses a duplicate name, and says which unless it may be a secret: %s', (text, field) => {
    expect(parse(text)).toThrow(`The body names ${field} twice; give each field once.`);
  });

  it('is not misled by colons, quotes and braces inside strings', () => {
    for (const text of ['{"a":"b:c"}', '{"a\\":":"\\\\"}', '{":":"{[:"}', '{"a":["}:",":"]}']) {
      expect(parse(text)()).toEqual(JSON.parse(text));
    }
  });

  it.each([
    ['{"a":{"b":["x\\u0000"]}}', 'a.b[0] holds the character U+0000'],
    ['{"a":"\\ud800"}', 'a holds half of a surrogate pair'],
    ['{"\\ud800":1}', 'a field name holds half of a surrogate pair'],
    ['"\\u0000"', 'the body holds the character U+0000'],
  ])('refuses text that PostgreSQL or UTF-8 cannot hold: %s', (text, message) => {
    expect(parse(text)).toThrow(message);
  });

  it('refuses bytes that are not UTF-8', () => {
    expect(parse(Buffer.from([0x22, 0xff, 0x22]))).toThrow('not valid UTF-8');
  });

  it('refuses deep nesting of any depth', () => {
    expect(parse(`${'['.repeat(64)}${']'.repeat(64)}`)()).toBeDefined();
    expect(parse(`${'['.repeat(65)}${']'.repeat(65)}`)).toThrow('more than 64 levels');
    expect(parse('['.repeat(1_000_000))).toThrow('more than 64 levels');
    expect(parse('{"a":'.repeat(100_000))).toThrow('more than 64 levels');
  });

  it('refuses too many tiny values before it parses them', () => {
    const listOf = (count: number): string => `[${Array(count).fill('{}').join(',')}]`;
    expect(parse(listOf(50_001))()).toHaveLength(50_001);
    expect(parse(listOf(50_002))).toThrow('The body has more than 50000 commas.');
    expect(parse(`["${','.repeat(60_000)}"]`)()).toHaveLength(1);
  });

  it('never quotes the body: it may hold a private key', () => {
    const secret = 'SECRETSECRETSECRET';
    for (const text of [`{"a":"${secret}"`, `${secret}`, `{"${secret}":1,"${secret}":2}`, `{"a":"${secret}\n"}`]) {
      expect(parse(text)).toThrow(Problem);
      expect(parse(text)).not.toThrow(/SECRET/);
    }
  });
});
