import { endianness } from 'node:os';
import { type Address, parseAddress } from '../../rules/index.js';
import { readIfThere } from './processes.js';

const TABLES = ['/proc/net/tcp', '/proc/net/tcp6'];
const LISTEN = '0A';
/** The columns of /proc/net/tcp: local address and port, remote ones, state. */
const SOCKET = /^ *\d+: ([0-9A-F]+):([0-9A-F]{4}) \S+ ([0-9A-F]{2}) /gm;

/** The ports at which this machine listens. */
export class ListeningPorts {
  private readonly open: ReadonlySet<string>;

  constructor(sockets = TABLES.map(readIfThere).join('')) {
    const listening = [...sockets.matchAll(SOCKET)].filter(([, , , state]) => state === LISTEN);
    this.open = new Set(listening.map(([, address = '', port]) => keyOf(addressOf(address), Number(`0x${port}`))));
  }

  /**
   * True also if it cannot be known: for an address with a zone, and without a table, since sshd itself listens.
   */
  has(address: string, port: number): boolean {
    const parsed = parseAddress(address);
    return parsed === undefined || this.open.size === 0 || this.open.has(keyOf(parsed, port));
  }
}

const keyOf = ({ bits, value }: Address, port: number): string => `${bits} ${value} ${port}`;

/** The kernel writes each 32 bits in the order of bytes of the machine. */
function addressOf(hex: string): Address {
  const bytes = Buffer.from(hex, 'hex');
  if (endianness() === 'LE') bytes.swap32();
  return { bits: bytes.length === 4 ? 32 : 128, value: BigInt(`0x${bytes.toString('hex')}`) };
}
