import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Violation } from '../protocol/violation.js';
import { proxyHeader } from './proxy-header.js';
import { readHeader } from './read-header.js';

const SIGNATURE = '0d0a0d0a000d0a515549540a';
const binary = (hex: string): Buffer => Buffer.from(SIGNATURE + hex.replaceAll(' ', ''), 'hex');
const line = (text: string): Buffer => Buffer.from(`${text}\r\n`);

const READ: readonly (readonly [string, Buffer, string | undefined])[] = [
  ['a line of IPv4', line('PROXY TCP4 192.0.2.7 203.0.113.9 50054 22'), '192.0.2.7'],
  ['a line of IPv6', line('PROXY TCP6 2001:db8:0::7 ::1 50054 22'), '2001:db8::7'],
  ['a line of a mapped address', line('PROXY TCP6 ::ffff:192.0.2.7 ::1 50054 22'), '192.0.2.7'],
  ['a line without a client', line('PROXY UNKNOWN'), undefined],
  ['a line without a client, with anything behind', line('PROXY UNKNOWN ffff::1 x 65535'), undefined],
  ['the longest line', line(`PROXY UNKNOWN ${'x'.repeat(107 - 16)}`), undefined],
  ['bytes of IPv4', binary('21 11 000c c0000207 cb007109 c386 0016'), '192.0.2.7'],
  ['bytes of IPv6', binary(`21 21 0024 20010db8${'00'.repeat(11)}07 ${'00'.repeat(15)}01 c386 0016`), '2001:db8::7'],
  [
    'bytes of a mapped address',
    binary(`21 21 0024 ${'00'.repeat(10)}ffffc0000207 ${'00'.repeat(16)} c386 0016`),
    '192.0.2.7',
  ],
  ['bytes with more about the connection', binary('21 11 0010 c0000207 cb007109 c386 0016 04000161'), '192.0.2.7'],
  ['a check of health', binary('20 00 0000'), undefined],
  ['a check of health that names addresses', binary('20 11 000c c0000207 cb007109 c386 0016'), undefined],
  ['a client that is not known', binary('21 00 0000'), undefined],
  ['a client on a socket of the machine', binary(`21 31 00d8 ${'00'.repeat(216)}`), undefined],
];

describe('the header of the PROXY protocol', () => {
  it.each(READ)('%s is read to its last byte, and no byte behind it', (_, header, client) => {
    for (const behind of ['', 'SSH-2.0-client\r\n']) {
      const read = readHeader(Buffer.concat([header, Buffer.from(behind)]));
      expect(read).toEqual({ lengthBytes: header.length, client });
    }
  });

  it.each(READ)('%s is waited for after each of its bytes', (_, header) => {
    for (let n = 0; n < header.length; n += 1) expect(readHeader(header.subarray(0, n))).toBeUndefined();
  });

  it.each([
    ['an SSH client', Buffer.from('SSH-2.0-x\r\n')],
    ['one byte of something else', Buffer.from('S')],
    ['a line that never ends', Buffer.from(`PROXY UNKNOWN ${'x'.repeat(107)}`)],
    ['a line that ends too late', line(`PROXY UNKNOWN ${'x'.repeat(107)}`)],
    ['a family that does not exist', line('PROXY TCP5 192.0.2.7 203.0.113.9 50054 22')],
    ['an address of the other family', line('PROXY TCP4 2001:db8::7 ::1 50054 22')],
    ['an address that is none', line('PROXY TCP4 192.0.2.700 203.0.113.9 50054 22')],
    ['an address with a zone', line('PROXY TCP6 fe80::1%eth0 ::1 50054 22')],
    ['a port that is none', line('PROXY TCP4 192.0.2.7 203.0.113.9 65536 22')],
    ['a line without ports', line('PROXY TCP4 192.0.2.7 203.0.113.9')],
    ['two blanks', line('PROXY TCP4  192.0.2.7 203.0.113.9 50054 22')],
    ['version 3', binary('31 11 000c c0000207 cb007109 c386 0016')],
    ['an unknown command', binary('22 11 000c c0000207 cb007109 c386 0016')],
    ['an unknown family', binary('21 41 000c c0000207 cb007109 c386 0016')],
    ['too few bytes for the addresses', binary('21 11 000b c0000207 cb007109 c386 00')],
    ['too few bytes for the addresses of IPv6', binary('21 21 000c c0000207 cb007109 c386 0016')],
    ['a length beyond the maximum, at once', binary('21 11 1001')],
  ])('is refused: %s', (_, bytes) => {
    expect(() => readHeader(bytes)).toThrow(Violation);
  });

  it('names the client that the own writer has named, of all addresses', () => {
    const address = fc.oneof(fc.ipV4(), fc.ipV6());
    fc.assert(
      fc.property(address, fc.nat(65_535), (client, port) => {
        const own = { address: client.includes(':') ? '::1' : '192.0.2.1', port: 22 };
        const read = readHeader(proxyHeader({ address: client, port }, own));
        const again = readHeader(proxyHeader({ address: read?.client ?? '', port }, own));
        expect(read?.client).toBeDefined();
        expect(again?.client).toBe(read?.client);
      }),
    );
  });

  it('of any bytes is whole, unfinished or refused, and never longer than what came', () => {
    const mutated = fc
      .tuple(fc.constantFrom(...READ.map(([, header]) => header)), fc.nat(), fc.nat(255))
      .map(([header, at, byte]) => {
        const bytes = Buffer.from(header);
        bytes[at % bytes.length] = byte;
        return bytes;
      });
    const anything = fc.uint8Array({ maxLength: 300 }).map((bytes) => Buffer.from(bytes));
    fc.assert(
      fc.property(fc.oneof(mutated, anything), (bytes) => {
        try {
          expect(readHeader(bytes)?.lengthBytes ?? 0).toBeLessThanOrEqual(bytes.length);
        } catch (error) {
          if (!(error instanceof Violation)) throw error;
        }
      }),
      { numRuns: 2_000 },
    );
  });
});
