import { anyIn, isIn, type PortRange, textOfRanges } from './port-ranges.js';
import type { GatewaySettings } from './settings-table.js';

/** How many random ports the gateway tries for a bind to port 0. */
const TRIES = 100;

/** The ports that binds and edges may have. No client gets a port of the gateway or of the service. */
export class Ports {
  private readonly ranges: Readonly<Record<'binds' | 'edges', readonly PortRange[]>>;
  private readonly reserved: ReadonlyMap<number, string>;

  constructor({ bindPorts, edgePorts, sshListen, httpListen, gatewayMetricsAddress, serviceUrl }: PortSettings) {
    this.ranges = { binds: bindPorts, edges: edgePorts };
    this.reserved = new Map([
      [sshListen.port, 'the gateway itself'],
      [httpListen?.port ?? 0, 'the HTTP of the gateway'],
      [gatewayMetricsAddress?.port ?? 0, 'the metrics of the gateway'],
      [portOf(serviceUrl), 'the service'],
    ]);
  }

  /** Why a port may not be used, completing the sentence "port N ..."; undefined if it may. */
  refusal(by: 'binds' | 'edges', port: number): string | undefined {
    const program = this.reserved.get(port);
    if (program !== undefined) return `is used by ${program}`;
    const ranges = this.ranges[by];
    return isIn(ranges, port) ? undefined : `is not one of the ports for ${by} here: ${textOfRanges(ranges)}`;
  }

  /** Random ports to try for a bind to port 0. */
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
  'bindPorts' | 'edgePorts' | 'sshListen' | 'httpListen' | 'gatewayMetricsAddress' | 'serviceUrl'
>;

const HTTP_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 };

function portOf(url: string): number {
  const { port, protocol } = new URL(url);
  return port === '' ? (HTTP_PORTS[protocol] ?? 0) : Number(port);
}
