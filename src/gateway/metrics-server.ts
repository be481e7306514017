import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { messageOf } from '../kernel/error-message.js';
import { OperatorError } from '../kernel/operator-error.js';
import type { GatewayContext } from './context/gateway-context.js';
import type { GatewayPart } from './gateway-part.js';

/** Serves `GET /metrics` and `GET /healthz` at an address of its own, if there is one. */
export class MetricsServer implements GatewayPart {
  private readonly server = createServer((request, response) => {
    this.answer(request, response).catch((error) => {
      response.destroy();
      this.context.failures.count('GATEWAY_METRICS_LISTEN', error);
    });
  });

  constructor(private readonly context: GatewayContext) {}

  async start(): Promise<void> {
    const address = this.context.settings.gatewayMetricsAddress;
    if (address === undefined) return;
    this.context.metrics.collectDefaults();
    try {
      this.server.listen(address);
      await once(this.server, 'listening');
    } catch (error) {
      throw new OperatorError(`GATEWAY_METRICS_LISTEN cannot be used: ${messageOf(error)}`);
    }
    // Accepting can fail for a moment, for example without a free file descriptor.
    this.server.on('error', (error) => this.context.failures.count('GATEWAY_METRICS_LISTEN', error));
  }

  async stop(): Promise<void> {
    this.server.close();
    this.server.closeAllConnections();
  }

  private async answer({ method, url }: IncomingMessage, response: ServerResponse): Promise<void> {
    const { registry } = this.context.metrics;
    if (method !== 'GET' || (url !== '/metrics' && url !== '/healthz')) response.writeHead(404).end();
    else if (url === '/healthz') response.setHeader('content-type', 'application/json').end(this.health());
    else response.setHeader('content-type', registry.contentType).end(await registry.metrics());
  }

  /** The status stays `ok` while the service is away: a restart would end tunnels that may stay open. */
  private health(): string {
    const { serviceState, tunnels } = this.context;
    return JSON.stringify({
      status: 'ok',
      service: serviceState.isFollowing ? 'followed' : 'away',
      tunnels: tunnels.size,
    });
  }
}
