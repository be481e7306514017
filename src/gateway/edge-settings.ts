import type { PortRange } from './port-ranges.js';

export interface EdgeSettings {
  /** Ports that edges may have at the hosts of the gateway. */
  readonly edgePorts: readonly PortRange[];
  /** `ignore`: edges are served as if they had no traffic policies. `refuse`: not if their policy cannot be read. */
  readonly edgeTrafficPolicies: 'refuse' | 'ignore';
  /** Tunnels with one of these labels, written `key=value`, get the header of the PROXY protocol. */
  readonly edgeProxyProtocol: ReadonlySet<string> | 'all';
  readonly maxEdgeConnections: number;
}

/** Reads `key=value` labels, separated by commas, or `all`. */
export function parseProxied(text: string): EdgeSettings['edgeProxyProtocol'] {
  if (text === 'all') return 'all';
  const labels = text.split(',').map((label) => label.trim());
  if (labels.every((label) => /^[^=]+=[^=]*$/.test(label))) return new Set(labels);
  throw new Error('must be labels such as team=blue, separated by commas, or all');
}
