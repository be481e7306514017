import type { GatewayLog } from '../gateway-log.js';
import type { GatewayLines } from '../log/gateway-lines.js';
import type { RateLimitedLog } from '../log/rate-limited-log.js';
import type { Ports } from '../ports.js';
import type { LiveRights } from '../rights/live-rights.js';
import type { ServiceState } from '../rights/service-state.js';
import type { ServiceClient } from '../service-client.js';
import type { OpenSessions } from '../sessions/open-sessions.js';
import type { GatewaySettings } from '../settings-table.js';
import type { HeldAddresses } from '../tunnels/held-addresses.js';
import type { HeldNames } from '../tunnels/held-names.js';
import type { OpenTunnels } from '../tunnels/open-tunnels.js';
import type { BufferBudget } from './buffer-budget.js';
import type { Failures } from './failures.js';
import type { GatewayMetrics } from './gateway-metrics.js';

/** Everything that the parts of a gateway share. */
export interface GatewayContext {
  readonly settings: GatewaySettings;
  readonly service: ServiceClient;
  readonly rights: LiveRights;
  readonly tunnels: OpenTunnels;
  /** What the service is told about. */
  readonly sessions: OpenSessions;
  readonly addresses: HeldAddresses;
  readonly names: HeldNames;
  readonly metrics: GatewayMetrics;
  readonly log: GatewayLog;
  readonly lines: GatewayLines;
  /** The log lines about refused binds. */
  readonly refusals: RateLimitedLog;
  readonly failures: Failures;
  readonly buffers: BufferBudget;
  readonly serviceState: ServiceState;
  readonly ports: Ports;
  /** The time of the clock, in milliseconds. */
  readonly now: () => number;
}
