import type { GatewayLog } from './gateway-log.js';
import { GatewayMetrics } from './gateway-metrics.js';
import type { GatewaySettings } from './gateway-settings.js';
import { ServiceClient } from './service-client.js';
import { OpenTunnels } from './tunnels/open-tunnels.js';

/** A part of the gateway that runs while it does. */
export interface GatewayPart {
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** What the parts share. */
export interface GatewayContext {
  readonly settings: GatewaySettings;
  readonly service: ServiceClient;
  readonly tunnels: OpenTunnels;
  readonly metrics: GatewayMetrics;
  readonly log: GatewayLog;
}

/** The gateway of one process. Its parts start in their order and stop in the opposite one. */
export class Gateway {
  private readonly parts: readonly GatewayPart[];

  constructor(
    settings: GatewaySettings,
    log: GatewayLog,
    makeParts: readonly ((context: GatewayContext) => GatewayPart)[],
  ) {
    const tunnels = new OpenTunnels();
    const metrics = new GatewayMetrics(tunnels);
    const context = { settings, log, tunnels, metrics, service: new ServiceClient(settings) };
    this.parts = makeParts.map((make) => make(context));
  }

  async start(): Promise<void> {
    for (const part of this.parts) await part.start();
  }

  async stop(): Promise<void> {
    for (const part of this.parts.toReversed()) await part.stop();
  }
}
