export interface EdgeSettings {
  /** Ports that edges may have at the hosts of the gateway. */
  readonly edgePorts: { readonly min: number; readonly max: number };
  /** `refuse`: an edge with an enabled traffic policy is not served. `ignore`: it is, as if it had none. */
  readonly edgeTrafficPolicies: 'refuse' | 'ignore';
  /** Tunnels with one of these labels, as `key=value`, get the header of the PROXY protocol. */
  readonly edgeProxyProtocol: ReadonlySet<string> | 'all';
  readonly maxEdgeConnections: number;
}

/** Reads `min-max` or one port. Throws an Error whose message completes the sentence "NAME ...". */
export function parsePorts(text: string): EdgeSettings['edgePorts'] {
  const [, first = '', last = first] = /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(text) ?? [];
  const [min, max] = [Number(first), Number(last)];
  if (first !== '' && min >= 1 && min <= max && max <= 65_535) return { min, max };
  throw new Error('must be a port or a range of ports such as 20000-29999');
}

/** Reads `key=value` labels, divided by commas, or `all`. */
export function parseProxied(text: string): EdgeSettings['edgeProxyProtocol'] {
  if (text === 'all') return 'all';
  const labels = text.split(',').map((label) => label.trim());
  if (labels.every((label) => /^[^=]+=[^=]*$/.test(label))) return new Set(labels);
  throw new Error('must be labels such as team=blue, divided by commas, or all');
}
