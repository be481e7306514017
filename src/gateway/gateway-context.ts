import type { BufferBudget } from './buffer-budget.js';
import type { Failures } from './failures.js';
import type { GatewayLog } from './gateway-log.js';
import type { GatewayMetrics } from './gateway-metrics.js';
import type { GatewaySettings } from './gateway-settings.js';
import type { GatewayLines } from './log/gateway-lines.js';
import type { PacedLog } from './paced-log.js';
import type { Ports } from './ports.js';
import type { LiveRights } from './rights/live-rights.js';
import type { Outage } from './rights/outage.js';
import type { ServiceClient } from './service-client.js';
import type { OpenTunnels } from './tunnels/open-tunnels.js';

/** What the parts of a gateway share. */
export interface GatewayContext {
  readonly settings: GatewaySettings;
  readonly service: ServiceClient;
  readonly rights: LiveRights;
  readonly tunnels: OpenTunnels;
  readonly metrics: GatewayMetrics;
  readonly log: GatewayLog;
  readonly lines: GatewayLines;
  /** The lines about refused binds. */
  readonly refusals: PacedLog;
  readonly failures: Failures;
  readonly buffers: BufferBudget;
  readonly outage: Outage;
  readonly ports: Ports;
}
