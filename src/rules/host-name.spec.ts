import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { canonicalHost, canonicalName, ParseError, PortOutOfRange, parsePort, splitPort } from './host-name.js';

const label = (octets: number) => 'a'.repeat(octets);
/** Four labels and three dots: 63 + 63 + 63 + the rest. */
const name = (octets: number) => [label(63), label(63), label(63), label(octets - 192)].join('.');

describe('canonicalHost gives every host one spelling', () => {
  it.each([
    ['app.example.com', 'app.example.com'],
    ['APP.Example.COM', 'app.example.com'],
    ['app.example.com.', 'app.example.com'],
    ['localhost.', 'localhost'],
    ['_dmarc.my_host.example', '_dmarc.my_host.example'],
    ['r3---sn.example', 'r3---sn.example'],
    ['1.a', '1.a'],
    ['bücher.example', 'xn--bcher-kva.example'],
    ['XN--BCHER-KVA.example', 'xn--bcher-kva.example'],
    ['bu\u0308cher.example', 'xn--bcher-kva.example'],
    ['例え。テスト', 'xn--r8jz45g.xn--zckzah'],
    ['ａｐｐ.example', 'app.example'],
    ['نامه\u200cای.example', 'xn--mgba3gch31f060k.example'],
    // Not decodable, but an ordinary name in DNS: ASCII names bypass the Unicode tables.
    ['xn--a.example', 'xn--a.example'],
    [name(253), name(253)],
    [`${name(253)}.`, name(253)],
    ['127.0.0.1', '127.0.0.1'],
    ['[0:0:0:0:0:0:0:1]', '[::1]'],
    ['[2001:DB8::0001]', '[2001:db8::1]'],
    ['[1:2:3:4:5:6:7::]', '[1:2:3:4:5:6:7:0]'],
    ['[::ffff:1.2.3.4]', '[::ffff:102:304]'],
  ])('%j is %j', (text, canonical) => {
    expect(canonicalHost(text)).toBe(canonical);
  });

  it('keeps an IPv4-mapped address apart from the IPv4 address', () => {
    expect(canonicalHost('[::ffff:1.2.3.4]')).not.toBe(canonicalHost('1.2.3.4'));
  });
});

describe('canonicalHost refuses', () => {
  it.each([
    ['', 'is empty'],
    ['.', 'is empty'],
    ['a..b', 'empty label'],
    ['a.b..', 'empty label'],
    ['-a.example', "begins or ends with '-'"],
    ['-ü.example', "begins or ends with '-'"],
    ['－ü.example', "begins or ends with '-'"],
    [label(64), 'the maximum is 63'],
    [`${'ü'.repeat(63)}.example`, 'the maximum is 63'],
    [name(254), 'the maximum is 253'],
    ['*.example.com', "holds '*'"],
    ['＊.example.com', 'no DNS name can carry'],
    ['a b', "holds ' '"],
    ['a\0b', "holds '\\u{0}'"],
    ['a\u0085b', 'no DNS name can carry'],
    ['a%2eb', "holds '%'"],
    ['ü/b', "holds '/'"],
    ['％61.example', 'no DNS name can carry'],
    ['a@b', "holds '@'"],
    ["a'b", 'holds a quote'],
    ['a:b', "holds ':'"],
    ['a\u00adb', 'invisible'],
    ['❤\ufe0f.example', 'invisible'],
    ['a\u200db', 'no DNS name can carry'],
    ['\ud800.example', 'no DNS name can carry'],
    ['ü.xn--a', 'no DNS name can carry'],
    // Some programs read the texts below as IPv4 addresses, others as names.
    ['1', 'ends in a number'],
    ['01.2.3.4', 'ends in a number'],
    ['256.1.1.1', 'ends in a number'],
    ['1.2.3.4.', 'ends in a number'],
    ['app.1', 'ends in a number'],
    ['0x7f000001', 'ends in a number'],
    ['0x', 'ends in a number'],
    ['１.2.3.4', 'ends in a number'],
    ['[]', 'IPv6'],
    ['[::1', 'IPv6'],
    ['[1.2.3.4]', 'IPv6'],
    ['[1::2::3]', 'IPv6'],
    ['[ ::1]', 'IPv6'],
    ['[fe80::1%eth0]', 'zone'],
  ])('%j: %s', (text, reason) => {
    expect(() => canonicalHost(text)).toThrow(ParseError);
    expect(() => canonicalHost(text)).toThrow(reason);
  });
});

it('canonicalName refuses addresses', () => {
  expect(() => canonicalName('1.2.3.4')).toThrow(ParseError);
  expect(() => canonicalName('[::1]')).toThrow(ParseError);
});

const hostish = fc.oneof(
  fc.string({
    unit: fc.constantFrom('a', 'B', '-', '_', '.', 'ü', 'ß', '1', '0', 'x', '。', '％', '*'),
    maxLength: 12,
  }),
  fc.string({ unit: 'binary', maxLength: 12 }),
  fc.ipV6().map((address) => `[${address}]`),
  fc.ipV4(),
  fc.domain(),
);

const canonicalOrNull = (text: string): string | null => {
  try {
    return canonicalHost(text);
  } catch (error) {
    if (error instanceof ParseError) return null;
    throw error;
  }
};

it('a canonical host is its own canonical form, in plain lower-case characters', () => {
  fc.assert(
    fc.property(hostish, (text) => {
      const canonical = canonicalOrNull(text);
      if (canonical === null) return;
      expect(canonicalHost(canonical)).toBe(canonical);
      expect(canonical).toMatch(/^(?:[a-z0-9_-]{1,63}(?:\.[a-z0-9_-]{1,63})*|\[[0-9a-f:]+\])$/);
    }),
    { numRuns: 400 },
  );
});

it('names that differ in case or one trailing dot are the same', () => {
  fc.assert(
    fc.property(fc.domain(), (domain) => {
      expect(canonicalHost(`${domain.toUpperCase()}.`)).toBe(canonicalHost(domain));
    }),
  );
});

describe('splitPort', () => {
  it.each([
    ['a.example:80', 'a.example', '80'],
    ['a.example', 'a.example', undefined],
    ['[::1]:80', '[::1]', '80'],
    ['[::1]', '[::1]', undefined],
    ['a:', 'a', ''],
    [':80', '', '80'],
    ['', '', undefined],
  ])('%j is host %j and port %j', (text, host, port) => {
    expect(splitPort(text)).toEqual({ host, port });
  });

  it.each(['::1', '::1:80', 'a:80:90', '[::1]80:', '[::1]:80:90'])('refuses %j, whose port is ambiguous', (text) => {
    expect(() => splitPort(text)).toThrow('brackets');
  });
});

describe('parsePort', () => {
  it.each([
    ['1', 1],
    ['443', 443],
    ['65535', 65_535],
  ])('%j is %d', (text, port) => {
    expect(parsePort(text, 1)).toBe(port);
  });

  it('accepts 0 only where 0 means a random port', () => {
    expect(parsePort('0', 0)).toBe(0);
    expect(() => parsePort('0', 1)).toThrow(PortOutOfRange);
  });

  it.each(['65536', '-1', '000', '99999999999999999999999'])('%j is out of range', (text) => {
    expect(() => parsePort(text, 1)).toThrow(PortOutOfRange);
  });

  it.each(['', ' 80', '80 ', '+80', '8e1', '0x50', '80.0', '８０', 'http', '080', '*'])('%j is not a port', (text) => {
    expect(() => parsePort(text, 1)).toThrow(ParseError);
    expect(() => parsePort(text, 1)).not.toThrow(PortOutOfRange);
  });
});
