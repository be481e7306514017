import { malformed, quoted } from '../../../kernel/problem.js';
import { type Address, parseSource } from '../../../rules/index.js';

/** One end of a connection. */
export interface Endpoint {
  readonly address: Address;
  readonly port: number;
}

const MAX_PORT = 65_535;
/** The port after an IPv4 address, or after an IPv6 address in brackets. */
const PORT = /^(?:\[[^\]]*\]|[\d.]+):(\d{1,5})$/;

/** The client of a question; its port is 0 if the source has none. Throws request_malformed. */
export function readSource(source: string | undefined): Endpoint {
  if (source === undefined) throw malformed('source is missing; send the address of a client.');
  const address = parseSource(source);
  if (address !== undefined) return { address, port: Number(PORT.exec(source)?.[1] ?? 0) };
  throw malformed(`source ${quoted(source)} is not an address such as 203.0.113.9 or 2001:db8::9.`);
}

/** The address that a client connected to. Throws request_malformed. */
export function readDestination(destination: string): Endpoint {
  const [address, port] = [parseSource(destination), Number(PORT.exec(destination)?.[1])];
  if (address !== undefined && port <= MAX_PORT) return { address, port };
  throw malformed(
    `destination ${quoted(destination)} is not an address with a port such as 192.0.2.1:20000 or [2001:db8::1]:20000.`,
  );
}

/**
 * Stands for what a check cannot know: the unspecified address, of the client's family, and the port of a canonical
 * hostport, or 0 without one.
 */
export const serverAt = ({ address: { bits } }: Endpoint, hostport = ':0'): Endpoint => ({
  address: { bits, value: 0n },
  port: Number(hostport.slice(hostport.lastIndexOf(':') + 1)),
});
