import type { GatewayLog } from './gateway-log.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { GatewaySettings } from './gateway-settings.js';
import type { LiveRights } from './rights/live-rights.js';
import type { ServiceClient } from './service-client.js';
import type { RefusalLog } from './ssh/refusal-log.js';
import type { OpenTunnels } from './tunnels/open-tunnels.js';

/** What the parts of a gateway share. */
export interface GatewayContext {
  readonly settings: GatewaySettings;
  readonly service: ServiceClient;
  readonly rights: LiveRights;
  readonly tunnels: OpenTunnels;
  readonly metrics: GatewayMetrics;
  readonly log: GatewayLog;
  readonly refusals: RefusalLog;
}
