import { EdgeServer } from './edges/edge-server.js';
import type { GatewayContext } from './gateway-context.js';
import type { GatewayLog } from './gateway-log.js';
import { GatewayMetrics } from './gateway-metrics.js';
import type { GatewayPart } from './gateway-part.js';
import type { GatewaySettings } from './gateway-settings.js';
import { MetricsServer } from './metrics-server.js';
import { LiveRights } from './rights/live-rights.js';
import { ServiceClient } from './service-client.js';
import { RefusalLog } from './ssh/refusal-log.js';
import { SshServer } from './ssh/ssh-server.js';
import { OpenTunnels } from './tunnels/open-tunnels.js';

/** The gateway of one process. Its parts start in their order and stop in the opposite one. */
export class Gateway {
  private readonly parts: readonly GatewayPart[];
  private readonly ssh: SshServer;
  private readonly service: ServiceClient;
  readonly tunnels = new OpenTunnels();

  constructor(settings: GatewaySettings, log: GatewayLog) {
    const { tunnels } = this;
    const service = new ServiceClient(settings);
    this.service = service;
    const rights = new LiveRights(service, log, settings.outageGraceMs);
    const metrics = new GatewayMetrics(tunnels);
    const refusals = new RefusalLog(log);
    const context: GatewayContext = { settings, log, refusals, tunnels, metrics, service, rights };
    this.ssh = new SshServer(context);
    this.parts = [rights, new MetricsServer(context), this.ssh, new EdgeServer(context)];
  }

  /** Throws OperatorError; then nothing is left running. */
  async start(): Promise<void> {
    try {
      for (const part of this.parts) await part.start();
    } catch (error) {
      await this.stop();
      throw error;
    }
  }

  async stop(): Promise<void> {
    for (const part of this.parts.toReversed()) await part.stop();
    this.service.close();
  }

  /** Where SSH clients connect. */
  get address(): { readonly host: string; readonly port: number } {
    return this.ssh.address;
  }

  get hostKeyFingerprint(): string {
    return this.ssh.hostKey.fingerprint;
  }
}
