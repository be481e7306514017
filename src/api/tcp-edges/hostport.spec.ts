import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { problemOf } from '../../../test/support/problems.js';
import { Problem } from '../../kernel/problem.js';
import { parseHostport } from './hostport.js';

const refusalOf = (text: unknown): Problem => problemOf(() => parseHostport(text, 'hostports[2]'));

describe('parseHostport keeps the text and compares by the canonical form', () => {
  it.each([
    ['tcp.example.com:443', 'tcp.example.com:443'],
    ['TCP.Example.com.:443', 'tcp.example.com:443'],
    ['bücher.example:1', 'xn--bcher-kva.example:1'],
    ['127.0.0.1:80', '127.0.0.1:80'],
    ['[2001:DB8:0::1]:80', '[2001:db8::1]:80'],
  ])('%j is %j', (text, canonical) => {
    expect(parseHostport(text, 'hostports[0]')).toEqual({ text, canonical });
  });
});

describe('parseHostport refuses with hostport_malformed', () => {
  it.each([
    '',
    ':',
    ':80',
    'a',
    'a.example.com:',
    'a.example.com:080',
    'a.example.com:80 ',
    'a.example.com:*',
    'tcp://a.example.com:80',
    'a..example.com:80',
    '*.example.com:80',
    '::1:80',
    '[::1]',
    '01.2.3.4:80',
    `${'a'.repeat(64)}:80`,
    'a'.repeat(600),
    null,
    80,
    ['a:80'],
    'a..b:70000',
  ])('%j', (text) => {
    expect(refusalOf(text)).toMatchObject({ problem: 'hostport_malformed', code: 'ERR_NGROK_7104', status: 400 });
  });
});

describe('parseHostport refuses with hostport_port_out_of_range', () => {
  it.each(['a:0', 'a:65536', 'a:-1', '[::1]:99999999999', '127.0.0.1:0'])('%j', (text) => {
    expect(refusalOf(text)).toMatchObject({
      problem: 'hostport_port_out_of_range',
      code: 'ERR_NGROK_7112',
      status: 400,
    });
  });
});

describe('a refusal', () => {
  it.each([
    ['a:65536', "hostports[2] 'a:65536' is not a hostport: the port must be a whole number from 1 to 65535."],
    ['a', "hostports[2] 'a' is not a hostport: it has no port, as in 'tcp.example.com:443'."],
    [7, "hostports[2] must be a string such as 'tcp.example.com:443'."],
    ['a\nb:80', /^hostports\[2\] 'a\\u\{a\}b:80' is not a hostport: the host holds '\\u\{a\}'/],
    ['ü'.repeat(257), 'hostports[2] (257 characters, not shown) is 514 bytes long; the maximum is 512.'],
  ])('of %j names the field, the value and the limit', (text, message) => {
    expect(refusalOf(text).message).toMatch(message);
  });
});

it('parseHostport gives any JSON a stable canonical form, or throws a Problem', () => {
  const hostport = fc.tuple(fc.domain(), fc.integer({ min: -1, max: 66_000 })).map(([host, port]) => `${host}:${port}`);
  fc.assert(
    fc.property(fc.oneof(fc.jsonValue(), fc.string({ unit: 'binary' }), hostport), (value) => {
      try {
        const { text, canonical } = parseHostport(value, 'hostports[0]');
        expect(text).toBe(value);
        expect(parseHostport(canonical, 'hostports[0]').canonical).toBe(canonical);
      } catch (error) {
        expect(error).toBeInstanceOf(Problem);
      }
    }),
    { numRuns: 500 },
  );
});
