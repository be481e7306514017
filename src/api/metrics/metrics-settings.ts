import { isIPv6 } from 'node:net';

/** Where a listener of its own serves the metrics. */
export interface MetricsAddress {
  readonly host: string;
  readonly port: number;
}

export interface MetricsSettings {
  /** Opens GET /metrics on the service's own port to requests with this token. */
  readonly metricsToken: string | undefined;
  /** Opens GET /metrics at another address, without a token. */
  readonly metricsAddress: MetricsAddress | undefined;
}

const ADDRESS = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9._-]+)):(\d{1,5})$/;

/** Throws an Error whose message completes the sentence "METRICS_LISTEN ...". */
export function parseMetricsAddress(text: string): MetricsAddress {
  const [, ipv6, name, digits] = ADDRESS.exec(text) ?? [];
  const [host, port] = [ipv6 ?? name, Number(digits)];
  if (host === undefined || port > 65_535 || (ipv6 !== undefined && !isIPv6(ipv6))) {
    throw new Error('must be an address and a port from 1 to 65535, IPv6 in brackets');
  }
  if (port === 0) throw new Error('must name the port, since Prometheus must know it: a number from 1 to 65535');
  return { host, port };
}
