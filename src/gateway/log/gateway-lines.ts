import type { Socket } from 'node:net';
import { addressText, parseAddress } from '../../rules/index.js';
import type { GatewayLog } from '../gateway-log.js';
import { RateLimitedLog } from './rate-limited-log.js';

/** The log lines of the gateway about its clients. Each kind has its own rate limit. */
export class GatewayLines {
  readonly refusedLogins: RateLimitedLog;
  readonly logins: RateLimitedLog;
  readonly connections: RateLimitedLog;
  readonly tunnels: RateLimitedLog;
  readonly edges: RateLimitedLog;
  readonly visits: RateLimitedLog;

  constructor(log: GatewayLog) {
    this.refusedLogins = new RateLimitedLog(log, 'refused logins');
    this.logins = new RateLimitedLog(log, 'logins');
    this.connections = new RateLimitedLog(log, 'connections that ended');
    this.tunnels = new RateLimitedLog(log, 'tunnels');
    this.edges = new RateLimitedLog(log, 'connections to edges');
    this.visits = new RateLimitedLog(log, 'visits of names');
  }
}

export interface SourceFields {
  /** As firewalls write it: without the IPv6 prefix of an IPv4 address, and without the name of an interface. */
  readonly source: string;
  /** Absent behind a balancer. */
  readonly source_port?: number;
}

type Address = { readonly [Field in 'remoteAddress' | 'remotePort']?: Socket[Field] | undefined };

export function sourceFields({ remoteAddress = '', remotePort }: Address): SourceFields {
  const address = parseAddress(remoteAddress.replace(/%.*/, ''));
  const port = remotePort !== undefined && { source_port: remotePort };
  return { source: address === undefined ? '' : addressText(address), ...port };
}
