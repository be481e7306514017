import { isIPv6 } from 'node:net';
import { IdSource } from '../kernel/ids.js';
import { BufferBudget } from './context/buffer-budget.js';
import { Failures } from './context/failures.js';
import type { GatewayContext } from './context/gateway-context.js';
import { GatewayMetrics } from './context/gateway-metrics.js';
import { EdgeServer } from './edges/edge-server.js';
import type { GatewayLog } from './gateway-log.js';
import type { GatewayPart } from './gateway-part.js';
import { HttpServer } from './http/http-server.js';
import { BoundedLog } from './log/bounded-line.js';
import { GatewayLines } from './log/gateway-lines.js';
import { RateLimitedLog } from './log/rate-limited-log.js';
import { MetricsServer } from './metrics-server.js';
import { Ports } from './ports.js';
import { LiveRights } from './rights/live-rights.js';
import { ServiceState } from './rights/service-state.js';
import { routesOf, ServiceClient } from './service-client.js';
import { OpenSessions } from './sessions/open-sessions.js';
import { SessionReporter } from './sessions/session-reporter.js';
import type { GatewaySettings } from './settings-table.js';
import { loadHostKeys } from './ssh/host-key.js';
import { SshServer } from './ssh/ssh-server.js';
import { HeldAddresses } from './tunnels/held-addresses.js';
import { HeldNames } from './tunnels/held-names.js';
import { OpenTunnels } from './tunnels/open-tunnels.js';

const OVERLAP =
  'GATEWAY_BIND_PORTS and GATEWAY_EDGE_PORTS overlap: a client can bind the port of an edge, and then gets its connections without the IP rules of the edge';

/** Undefined: nobody has named it, and the gateway listens at all addresses or takes a free port. */
function publicAddressOf({ publicAddress, sshListen }: GatewaySettings): string | undefined {
  const { host, port } = publicAddress ?? sshListen;
  if (port === 0 || ['0.0.0.0', '::'].includes(host)) return undefined;
  return `${isIPv6(host) ? `[${host}]` : host}:${port}`;
}

/** A gateway. Its parts start in order, and stop in the opposite order. */
export class Gateway {
  private readonly parts: readonly GatewayPart[];
  private readonly ssh: SshServer;
  private readonly service: ServiceClient;
  private readonly serviceState: ServiceState;
  readonly tunnels = new OpenTunnels();

  constructor(settings: GatewaySettings, logOfProcess: GatewayLog, now: () => number = Date.now) {
    const { tunnels } = this;
    const log = new BoundedLog(logOfProcess);
    const service = new ServiceClient(routesOf(settings));
    this.service = service;
    const serviceState = new ServiceState(log, settings.outageGraceMs, ['changes', 'edges/changes']);
    const buffers = new BufferBudget(settings.maxBufferedBytes, log);
    const metrics = new GatewayMetrics(tunnels, buffers, serviceState);
    const ids = new IdSource();
    const sessions = new OpenSessions(ids);
    const hostKeys = loadHostKeys(settings.hostKeyFile, (message) => log.line('warn', {}, message));
    const self = {
      ...{ id: ids.next('gw'), hosts: settings.gatewayHosts },
      ...{ address: publicAddressOf(settings), hostKeys: hostKeys.map(({ line }) => line) },
    };
    const reporter = new SessionReporter({ service, log, metrics }, sessions, self);
    const rights = new LiveRights(service, serviceState, reporter);
    const failures = new Failures(log, metrics);
    const ports = new Ports(settings);
    const addresses = new HeldAddresses(settings.takeOver);
    const names = new HeldNames(addresses);
    const refusals = new RateLimitedLog(log, 'refused binds');
    const lines = new GatewayLines(log);
    const context: GatewayContext = {
      ...{ settings, log, lines, refusals, failures, buffers, tunnels, sessions },
      ...{ metrics, service, serviceState, rights, ports, addresses, names, now },
    };
    if (ports.overlap) log.line('warn', {}, OVERLAP);
    this.serviceState = serviceState;
    this.ssh = new SshServer(context, hostKeys);
    this.parts = [
      rights,
      reporter,
      buffers,
      new MetricsServer(context),
      this.ssh,
      new EdgeServer(context),
      new HttpServer(context),
    ];
  }

  /** If it throws OperatorError, nothing is left running. */
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
    this.serviceState.stop();
    this.service.close();
  }

  /** Where SSH clients connect. */
  get address(): { readonly host: string; readonly port: number } {
    return this.ssh.address;
  }

  get hostKeyFingerprint(): string {
    return this.ssh.hostKeys[0].fingerprint;
  }
}
