import type { Socket } from 'node:net';
import { parseAddress, textOf } from '../../rules/index.js';
import type { GatewayLog } from '../gateway-log.js';
import { PacedLog } from '../paced-log.js';

/** The lines of the gateway about its clients, each kind with a pace of its own. */
export class GatewayLines {
  readonly refusedLogins: PacedLog;
  readonly logins: PacedLog;
  readonly connections: PacedLog;
  readonly tunnels: PacedLog;
  readonly edges: PacedLog;

  constructor(log: GatewayLog) {
    this.refusedLogins = new PacedLog(log, 'refused logins');
    this.logins = new PacedLog(log, 'logins');
    this.connections = new PacedLog(log, 'connections that ended');
    this.tunnels = new PacedLog(log, 'tunnels');
    this.edges = new PacedLog(log, 'connections to edges');
  }
}

export interface SourceFields {
  /** As firewalls know it: without the prefix of an IPv4 address in IPv6, and without the name of an interface. */
  readonly source: string;
  /** Absent behind a balancer. */
  readonly source_port?: number;
}

type Address = { readonly [Field in 'remoteAddress' | 'remotePort']?: Socket[Field] | undefined };

export function sourceFields({ remoteAddress = '', remotePort }: Address): SourceFields {
  const address = parseAddress(remoteAddress.replace(/%.*/, ''));
  const port = remotePort !== undefined && { source_port: remotePort };
  return { source: address === undefined ? '' : textOf(address), ...port };
}
