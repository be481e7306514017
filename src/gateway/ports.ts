import type { GatewaySettings } from './gateway-settings.js';
import { anyIn, isIn, type PortRange, textOfRanges } from './port-ranges.js';

/** So many ports are tried for a bind that takes any. */
const TRIES = 100;

/** Which ports binds and edges may have. No client gets one of the programs that run the tunnels. */
export class Ports {
  private readonly ranges: Readonly<Record<'binds' | 'edges', readonly PortRange[]>>;
  private readonly reserved: ReadonlyMap<number, string>;

  constructor({ bindPorts, edgePorts, sshListen, gatewayMetricsAddress, serviceUrl }: PortSettings) {
    this.ranges = { binds: bindPorts, edges: edgePorts };
    this.reserved = new Map([
      [sshListen.port, 'the gateway itself'],
      [gatewayMetricsAddress?.port ?? 0, 'the metrics of the gateway'],
      [portOf(serviceUrl), 'the service'],
    ]);
  }

  /** Completes the sentence "port N ...", if it may not be used. */
  refusal(by: 'binds' | 'edges', port: number): string | undefined {
    const program = this.reserved.get(port);
    if (program !== undefined) return `is that of ${program}`;
    const ranges = this.ranges[by];
    return isIn(ranges, port) ? undefined : `is not one of those for ${by} here: ${textOfRanges(ranges)}`;
  }

  /** Some ports for a bind that takes any, at random. */
  *anyForBind(): Generator<number> {
    for (let n = 0; n < TRIES; n += 1) {
      const port = anyIn(this.ranges.binds);
      if (!this.reserved.has(port)) yield port;
    }
  }

  /** Whether a bind can hold the port of an edge. */
  get overlap(): boolean {
    const { binds, edges } = this.ranges;
    return binds.some((a) => edges.some((b) => a.min <= b.max && b.min <= a.max));
  }
}

type PortSettings = Pick<
  GatewaySettings,
  'bindPorts' | 'edgePorts' | 'sshListen' | 'gatewayMetricsAddress' | 'serviceUrl'
>;

const HTTP_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (HTTP_PORTS[protocol] ?? 0) : Number(port);
}
