import type { Network } from '../rules/index.js';
import type { EdgeSettings } from './edges/edge-settings.js';
import type { PortRange } from './port-ranges.js';
import type { ServiceAddress } from './service-client.js';

export interface ListenAddress {
  readonly host: string;
  readonly port: number;
}

/** A host that the gateway owns, and the address of this machine at which it listens for it. */
export interface OwnedHost {
  /** Canonical, as in a bind rule. */
  readonly host: string;
  readonly listenAddress: string;
}

/** Limits of one credential. 0: none. */
interface CredentialLimits {
  readonly maxConnections: number;
  readonly maxBinds: number;
  readonly maxChannels: number;
  readonly maxBytesPerSecond: number;
  /** Logins, binds and other requests. A source has ten times as many. */
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
  /** Balancers in front of the port for SSH: their connections begin with a header of the PROXY protocol. */
  readonly proxyProtocolFrom: readonly Network[];
  /** The private key of the gateway; made if the file does not exist. */
  readonly hostKeyFile: string;
  /** Tunnels and edges are served at these hosts only. */
  readonly gatewayHosts: readonly OwnedHost[];
  /** Ports at these hosts that clients may bind. */
  readonly bindPorts: readonly PortRange[];
  /** `refuse`: a key that the service does not know is refused before it signs. */
  readonly unknownKeys: 'sign' | 'refuse';
  readonly loginGraceMs: number;
  /** Connections that have not logged in. */
  readonly maxStrangers: number;
  /** New ones of a source. 0: no limit. */
  readonly maxConnectionsPerSecond: number;
  /** What may wait in memory for slow readers, of all connections together. */
  readonly maxBufferedBytes: number;
  readonly keepaliveMs: number;
  /** For connections without a byte, and for clients without a bind. */
  readonly idleMs: number;
  /** Time for which open tunnels stay while the service cannot be asked about them. */
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
