import type { Network, OwnedHost } from '../rules/index.js';
import type { EdgeSettings } from './edge-settings.js';
import type { PortRange } from './port-ranges.js';
import type { ServiceAddress } from './service-client.js';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** Limits of one credential. 0: none. */
interface CredentialLimits {
  readonly maxConnections: number;
  readonly maxBinds: number;
  readonly maxChannels: number;
  readonly maxBytesPerSecond: number;
  /** Logins, binds and other requests. A source may make ten times as many. */
  readonly maxRequestsPerSecond: number;
}

/** Limits of all credentials of an account together. 0: none. */
interface AccountLimits {
  readonly maxAccountConnections: number;
  readonly maxAccountBinds: number;
  readonly maxAccountChannels: number;
}

/** All settings of a gateway. */
export interface GatewaySettings extends ServiceAddress, CredentialLimits, AccountLimits, EdgeSettings {
  readonly sshListen: ListenAddress;
  /** Load balancers in front of the SSH port. Their connections begin with a header of the PROXY protocol. */
  readonly proxyProtocolFrom: readonly Network[];
  /** The file of the gateway's private key. The gateway makes the key if the file does not exist. */
  readonly hostKeyFile: string;
  /** The gateway serves tunnels and edges at these hosts only. */
  readonly gatewayHosts: readonly OwnedHost[];
  /** Ports at these hosts that clients may bind. */
  readonly bindPorts: readonly PortRange[];
  /** `refuse`: a key that the service does not know is refused before it signs. */
  readonly unknownKeys: 'sign' | 'refuse';
  readonly loginGraceMs: number;
  /** The most connections that have not logged in. */
  readonly maxStrangers: number;
  /** New connections of a source. 0: no limit. */
  readonly maxConnectionsPerSecond: number;
  /** The most bytes that may wait in memory for slow readers, for all connections together. */
  readonly maxBufferedBytes: number;
  readonly keepaliveMs: number;
  /** When a newer connection of a credential gets an address that an older one holds. */
  readonly takeOver: 'dead' | 'always';
  /** After this time the gateway ends a connection that carries no byte, and a client that has no bind. */
  readonly idleMs: number;
  /** The same for a connection whose visitor has ended its side. */
  readonly halfClosedMs: number;
  /** How long open tunnels stay open while the service is away. */
  readonly outageGraceMs: number;
  readonly gatewayMetricsAddress: ListenAddress | undefined;
}

/** Throws an Error whose message completes the sentence "NAME ...". */
export function parseListenAddress(text: string): ListenAddress {
  const [, ipv6, name, digits] = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/.exec(text) ?? [];
  const [host, port] = [ipv6 ?? name, Number(digits)];
  if (host !== undefined && port <= 65_535) return { host, port };
  throw new Error('must be an address and a port, IPv6 in brackets');
}
