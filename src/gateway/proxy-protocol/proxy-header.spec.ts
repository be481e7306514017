import { expect, it } from '@jest/globals';
import { proxyHeader } from './proxy-header.js';

const SIGNATURE = '0d0a0d0a000d0a515549540a';

it.each([
  ['IPv4', '192.0.2.7', '203.0.113.9', '21 11 000c c0000207 cb007109 c386 1538'],
  [
    'IPv6',
    '2001:db8::7',
    '::1',
    '21 21 0024 20010db8000000000000000000000007 00000000000000000000000000000001 c386 1538',
  ],
  [
    'an IPv4 client of a listener for both',
    '::ffff:192.0.2.7',
    '::ffff:203.0.113.9',
    '21 11 000c c0000207 cb007109 c386 1538',
  ],
  [
    'two families',
    '192.0.2.7',
    '2001:db8::7',
    '21 21 0024 00000000000000000000ffffc0000207 20010db8000000000000000000000007 c386 1538',
  ],
  [
    'a link-local client, without its zone',
    'fe80::7%eth0',
    'fe80::1%eth0',
    '21 21 0024 fe800000000000000000000000000007 fe800000000000000000000000000001 c386 1538',
  ],
])('the header of the PROXY protocol names the client: %s', (_, from, to, expected) => {
  const header = proxyHeader({ address: from, port: 50_054 }, { address: to, port: 5_432 });
  expect(header.toString('hex')).toBe(SIGNATURE + expected.replaceAll(' ', ''));
});
