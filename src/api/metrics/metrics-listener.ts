import { Logger, type OnApplicationBootstrap, type OnModuleDestroy } from '@nestjs/common';
import { fastify } from 'fastify';
import { messageOf } from '../../kernel/error-message.js';
import type { IdSource } from '../../kernel/ids.js';
import { OperatorError } from '../../kernel/operator-error.js';
import { Problem } from '../../kernel/problem.js';
import type { ListenAddress } from '../../kernel/settings/listen-address.js';
import { sendProblem } from '../http/problem.filter.js';
import { TIMEOUTS } from '../http/timeouts.js';
import type { InstanceMetrics } from './instance-metrics.js';

/** Serves /metrics, and nothing else, at an address of its own. It starts and stops with the service. */
export class MetricsListener implements OnApplicationBootstrap, OnModuleDestroy {
  private readonly logger = new Logger('Metrics');
  private readonly server;

  constructor(
    private readonly address: ListenAddress,
    metrics: InstanceMetrics,
    ids: IdSource,
  ) {
    this.server = fastify({
      genReqId: () => ids.next('op'),
      forceCloseConnections: 'idle',
      return503OnClosing: false,
      keepAliveTimeout: TIMEOUTS.keepAliveMs,
      requestTimeout: TIMEOUTS.requestMs,
      http: { headersTimeout: TIMEOUTS.headersMs, connectionsCheckingInterval: TIMEOUTS.checkEveryMs },
    });
    this.server.get('/metrics', (_, reply) => {
      void reply.header('content-type', metrics.contentType).header('cache-control', 'no-store');
      return metrics.text();
    });
    this.server.setNotFoundHandler(({ id }, reply) => {
      sendProblem(reply, id, new Problem('not_found', 'This address serves only GET /metrics.'));
    });
  }

  async onApplicationBootstrap(): Promise<void> {
    const { host, port } = this.address;
    try {
      this.logger.log(`metrics are at ${await this.server.listen({ host, port })}/metrics`);
    } catch (error) {
      const advice = 'choose an address of this machine and a port that is free';
      throw new OperatorError(`METRICS_LISTEN cannot be used: ${messageOf(error)}; ${advice}`);
    }
  }

  async onModuleDestroy(): Promise<void> {
    await this.server.close();
  }
}
