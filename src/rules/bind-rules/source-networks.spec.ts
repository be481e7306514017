import { BlockList, isIPv4 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseSource } from '../ip-rules/address.js';
import { compileNetworks, contains, MAX_CIDRS, parseCidrs } from './source-networks.js';

const includes = (cidrs: string, source: string | undefined): boolean => {
  const address = parseSource(source);
  return address !== undefined && contains(compileNetworks(cidrs), address);
};

describe('networks', () => {
  it.each([
    ['192.0.2.0/24', '192.0.2.0/24'],
    ['192.0.2.7', '192.0.2.7/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['2001:db8:0:1:0:0:0:1', '2001:db8:0:1::1/128'],
    ['::/0', '::/0'],
    ['::ffff:192.0.2.0/120', '192.0.2.0/24'],
    ['::ffff:c000:207', '192.0.2.7/32'],
    ['::192.0.2.7', '::c000:207/128'],
  ])('%s is %s', (text, canonical) => {
    expect(parseCidrs([text], 'cidrs')).toEqual([canonical]);
  });

  it('keep their order, and stand once', () => {
    expect(parseCidrs(['::1', '10.0.0.0/8', '0:0::1/128', '::ffff:10.0.0.0/104'], 'cidrs')).toEqual([
      '::1/128',
      '10.0.0.0/8',
    ]);
  });

  it.each([
    [[], /^cidrs is empty/],
    [[7], /^cidrs\[0\] must be a string/],
    [['::1', 'a.example'], /^cidrs\[1\] 'a.example' is not a network such as/],
    [[''], /is not a network/],
    [['10.0.0.0/'], /is not a network/],
    [['10.0.0.0/08'], /is not a network/],
    [['10.0.0.0/8/8'], /is not a network/],
    [['10.0.0.0/255.0.0.0'], /is not a network/],
    [['010.0.0.0/8'], /is not a network/],
    [['10.1/8'], /is not a network/],
    [[' 10.0.0.0/8'], /is not a network/],
    [['[::1]'], /is not a network/],
    [['fe80::1%eth0'], /is not a network/],
    [['10.0.0.0/33'], /must have a prefix from 0 to 32/],
    [['::/129'], /must have a prefix from 0 to 128/],
    [['::ffff:0.0.0.0/95'], /must have a prefix from 96 to 128/],
    [['10.1.2.3/8'], /has bits after its prefix; send 10.0.0.0\/8 for the network, or 10.1.2.3\/32 for the address/],
    [['2001:db8::1/64'], /send 2001:db8::\/64 for the network, or 2001:db8::1\/128/],
    [Array.from({ length: MAX_CIDRS + 1 }, (_, n) => `10.0.0.${n}`), /^cidrs has 101 items; the maximum is 100/],
  ])('refuses %j', (cidrs, message) => {
    expect(() => parseCidrs(cidrs, 'cidrs')).toThrow(message);
  });
});

describe('a source', () => {
  it.each(['192.0.2.7', '192.0.2.7:50312', '::ffff:192.0.2.7', '[::ffff:192.0.2.7]:50312', '[::ffff:c000:207]'])(
    '%s is read as 192.0.2.7',
    (source) => {
      expect(includes('192.0.2.7/32', source)).toBe(true);
      expect(includes('0.0.0.0/0', source)).toBe(true);
      expect(includes('192.0.2.6/32,::/0', source)).toBe(false);
    },
  );

  it.each(['2001:db8::7', '2001:DB8:0::7', '[2001:db8::7]', '[2001:db8::7]:22'])(
    '%s is read as 2001:db8::7',
    (source) => {
      expect(includes('2001:db8::7/128', source)).toBe(true);
      expect(includes('2001:db8::6/128,0.0.0.0/0', source)).toBe(false);
    },
  );

  it.each([
    undefined,
    '',
    'a.example',
    '192.0.2.7 (a.example)',
    ' 192.0.2.7',
    '192.0.2.7:',
    '192.0.2.7:x',
    '192.0.2.7:123456',
    '192.0.2.07',
    '192.0.2',
    '[192.0.2.7]',
    '[::1',
    '[::1]22',
    'fe80::1%eth0',
    '[fe80::1%eth0]:22',
    '3221225991',
    '192.0.2.7,192.0.2.7',
  ])('%j cannot be read, and is in no network', (source) => {
    expect(includes('0.0.0.0/0,::/0', source)).toBe(false);
  });
});

describe('laws', () => {
  const octet = fc.constantFrom(0, 1, 127, 128, 200, 255);
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));
  const group = fc.constantFrom('0', '1', '7fff', '8000', 'ffff', 'db8');
  const ipv6 = fc.tuple(fc.constantFrom('2001', 'fe80'), ...new Array(7).fill(group)).map((groups) => groups.join(':'));
  const network = fc.oneof(
    fc.tuple(ipv4, fc.integer({ min: 0, max: 32 })),
    fc.tuple(ipv6, fc.integer({ min: 0, max: 128 })),
  );

  /** The network of an address, by the advice of the refusal. */
  function networkOf(address: string, length: number): string {
    try {
      return String(parseCidrs([`${address}/${length}`], 'cidrs'));
    } catch (error) {
      const [, advised = ''] = /send (\S+) for the network/.exec(String(error)) ?? [];
      return String(parseCidrs([advised], 'cidrs'));
    }
  }

  it('a network contains an address exactly if Node says so', () => {
    fc.assert(
      fc.property(network, fc.oneof(ipv4, ipv6), ([address, length], source) => {
        const cidr = networkOf(address, length);
        const family = isIPv4(source) ? 'ipv4' : 'ipv6';
        const list = new BlockList();
        if (isIPv4(address) === isIPv4(source)) list.addSubnet(address, length, family);
        expect(includes(cidr, source)).toBe(list.check(source, family));
        expect(includes(cidr, address)).toBe(true);
      }),
      { numRuns: 1000 },
    );
  });

  it('the canonical form is its own canonical form', () => {
    fc.assert(
      fc.property(network, ([address, length]) => {
        const cidr = networkOf(address, length);
        expect(parseCidrs([cidr], 'cidrs')).toEqual([cidr]);
      }),
    );
  });
});
