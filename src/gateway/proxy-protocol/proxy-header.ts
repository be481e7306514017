import { parseAddress } from '../../rules/index.js';
import type { Endpoint } from '../endpoint.js';

/** The first bytes of each header of version 2. */
export const SIGNATURE = Buffer.from('\r\n\r\n\0\r\nQUIT\n', 'latin1');
/** Version 2, command PROXY. */
const PROXY = 0x21;
/** The byte for the address family and TCP, by the bits of an address. */
const FAMILIES = { 32: 0x11, 128: 0x21 } as const;
const BYTES = { 32: 4, 128: 16 } as const;

/** The header of the PROXY protocol, version 2, in which HAProxy and others name the client of a connection. */
export function proxyHeader(source: Endpoint, destination: Endpoint): Buffer {
  const [from, to] = [addressOf(source), addressOf(destination)];
  if (from === undefined || to === undefined) throw new Error('the PROXY protocol needs two addresses');
  // The header has one family for both addresses: IPv6 if they differ.
  const bits = from.bits === 32 && to.bits === 32 ? 32 : 128;
  const addresses = [from, to].map(({ bits: own, value }) => {
    const mapped = own < bits ? value | (0xffffn << 32n) : value;
    return Buffer.from(mapped.toString(16).padStart(2 * BYTES[bits], '0'), 'hex');
  });
  const ports = Buffer.alloc(4);
  ports.writeUInt16BE(source.port, 0);
  ports.writeUInt16BE(destination.port, 2);
  const length = Buffer.alloc(2);
  length.writeUInt16BE(2 * BYTES[bits] + ports.length);
  return Buffer.concat([SIGNATURE, Buffer.from([PROXY, FAMILIES[bits]]), length, ...addresses, ports]);
}

/** The header has no place for the zone of a link-local address. */
const addressOf = ({ address }: Endpoint) => parseAddress(address.replace(/%.*/, ''));
