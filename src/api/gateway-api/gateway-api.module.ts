import { Logger, Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { IdSource } from '../../kernel/ids.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { providerOf } from '../resources/provider-of.js';
import { EdgesByHostport } from '../tcp-edges/tcp-edges.read-model.js';
import { BindsController } from './binds/binds.controller.js';
import { GatewayAnswers } from './binds/gateway-answers.js';
import { BindDecisionMetrics } from './decisions/bind-decision-metrics.js';
import { BindDecisionQueue } from './decisions/bind-decision-queue.js';
import { GatewayPolicy } from './decisions/gateway-policy.js';
import { EdgeChangeStreams, EdgeChanges } from './edges/edge-changes.js';
import { EdgePolicies } from './edges/edge-policies.js';
import { EdgePorts } from './edges/edge-ports.js';
import { GatewayEdgesController } from './edges/gateway-edges.controller.js';
import { GatewayEdges } from './edges/gateway-edges.js';
import { ServedEdgesController } from './edges/served-edges.controller.js';
import { GatewayMetricsController } from './gateway-metrics.controller.js';
import { ChangeStreams, credentialIds } from './revocations/change-streams.js';
import { ChangeWatch } from './revocations/change-watch.js';
import { CredentialChanges } from './revocations/credential-changes.js';
import { RevocationsController } from './revocations/revocations.controller.js';

const logger = new Logger('SshGateway');

/** The app itself must import it, so that Nest stops it before the database: see BindDecisionQueue. */
@Module({
  controllers: [
    BindsController,
    ServedEdgesController,
    GatewayEdgesController,
    RevocationsController,
    GatewayMetricsController,
  ],
  providers: [
    providerOf(EdgesByHostport, POOL),
    providerOf(EdgePolicies, POOL),
    providerOf(GatewayEdges, EntityQueries, EdgesByHostport, EdgePolicies),
    providerOf(EdgePorts, POOL),
    {
      provide: ChangeStreams,
      useFactory: (pool: Pool) => {
        const watch = new ChangeWatch(new CredentialChanges(pool), (message) => logger.warn(message));
        return new ChangeStreams(watch, credentialIds);
      },
      inject: [POOL],
    },
    {
      provide: EdgeChangeStreams,
      useFactory: (pool: Pool) => {
        const watch = new ChangeWatch(new EdgeChanges(pool), (message) => logger.warn(message));
        return new EdgeChangeStreams(watch);
      },
      inject: [POOL],
    },
    providerOf(BindDecisionQueue, POOL, GatewayPolicy, BindDecisionMetrics),
    providerOf(GatewayAnswers, POOL, GatewayPolicy, IdSource, BindDecisionQueue, BindDecisionMetrics),
  ],
})
export class GatewayApiModule {}
