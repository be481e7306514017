import { addressText, parseAddress } from '../../rules/index.js';
import { Violation } from '../protocol/violation.js';
import { SIGNATURE } from './proxy-header.js';

/** A whole header of the PROXY protocol. */
export interface ReadHeader {
  readonly lengthBytes: number;
  /** The address of the client. Undefined if the balancer itself connects, for example for a health check. */
  readonly client: string | undefined;
}

/** The longest line of version 1, with its line end. */
const MAX_LINE_BYTES = 107;
const LINE_END = '\r\n';
const LINE = /^(TCP[46]) (\S+) (\S+) (\d{1,5}) (\d{1,5})$/;
const MAX_PORT = 65_535;

/** In version 2: the signature, the command, the family and the length of the rest. */
const FIXED_BYTES = 16;
/** The addresses, and what balancers add about TLS and themselves. */
const MAX_REST_BYTES = 4_096;
const LOCAL = 0x20;
const PROXY = 0x21;
/** The bytes of an address, by the family of TCP. The rest begins with two addresses and two ports. */
const ADDRESS_BYTES: ReadonlyMap<number, number> = new Map([
  [0x11, 4],
  [0x21, 16],
]);
/**
 * The families unspecified, UDP and Unix. They name no TCP client, but the protocol demands that a receiver accepts
 * them.
 */
const WITHOUT_CLIENT: readonly number[] = [0x00, 0x12, 0x22, 0x31, 0x32];

const VERSIONS = [
  { begin: Buffer.from('PROXY '), read: readLine },
  { begin: SIGNATURE, read: readBinary },
];

/** Reads a header of version 1 or 2 at the beginning of these bytes. Undefined if more must come. Throws Violation. */
export function readHeader(bytes: Buffer): ReadHeader | undefined {
  for (const { begin, read } of VERSIONS) {
    const length = Math.min(begin.length, bytes.length);
    if (bytes.subarray(0, length).equals(begin.subarray(0, length)))
      return length < begin.length ? undefined : read(bytes);
  }
  throw refusal('begins without a header of the PROXY protocol');
}

function readLine(bytes: Buffer): ReadHeader | undefined {
  const end = bytes.subarray(0, MAX_LINE_BYTES).indexOf(LINE_END);
  if (end < 0 && bytes.length < MAX_LINE_BYTES) return undefined;
  const line = bytes.toString('latin1', 'PROXY '.length, Math.max(end, 0));
  const lengthBytes = end + LINE_END.length;
  if (end >= 0 && /^UNKNOWN( |$)/.test(line)) return { lengthBytes, client: undefined };
  const [, family, from = '', to = '', ...ports] = LINE.exec(line) ?? [];
  const bits = family === 'TCP4' ? 32 : 128;
  const [client, own] = [clientOf(from, bits), clientOf(to, bits)];
  if (client === undefined || own === undefined || ports.some((port) => Number(port) > MAX_PORT))
    throw refusal('sends a line of the PROXY protocol that cannot be read');
  return { lengthBytes, client };
}

/** A mapped IPv4 address counts as IPv6 on the line, and as the client's IPv4 address in rules. */
function clientOf(text: string, bits: 32 | 128): string | undefined {
  const address = parseAddress(text);
  return address === undefined || text.includes(':') !== (bits === 128) ? undefined : addressText(address);
}

function readBinary(bytes: Buffer): ReadHeader | undefined {
  if (bytes.length < FIXED_BYTES) return undefined;
  const [command = 0, family = 0] = bytes.subarray(SIGNATURE.length);
  const restBytes = bytes.readUInt16BE(SIGNATURE.length + 2);
  const lengthBytes = FIXED_BYTES + restBytes;
  if (command !== LOCAL && command !== PROXY) throw refusal('sends an unknown command of the PROXY protocol');
  if (restBytes > MAX_REST_BYTES) throw refusal(`sends a header of ${lengthBytes} bytes, which is too long`);
  if (bytes.length < lengthBytes) return undefined;
  if (command === LOCAL || WITHOUT_CLIENT.includes(family)) return { lengthBytes, client: undefined };
  const addressBytes = ADDRESS_BYTES.get(family);
  if (addressBytes === undefined) throw refusal('sends an unknown family of addresses');
  if (restBytes < 2 * addressBytes + 4) throw refusal('sends a header that is too short for its addresses');
  const value = BigInt(`0x${bytes.toString('hex', FIXED_BYTES, FIXED_BYTES + addressBytes)}`);
  const text = addressText({ bits: addressBytes === 4 ? 32 : 128, value });
  return { lengthBytes, client: clientOf(text, addressBytes === 4 ? 32 : 128) };
}

/** A violation by the balancer, which is the client of the gateway here. `problem` completes the sentence. */
const refusal = (problem: string): Violation =>
  new Violation('proxy_header', `is a balancer of GATEWAY_PROXY_PROTOCOL_FROM and ${problem}`);
