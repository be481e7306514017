import { Logger, Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../database/database.js';
import { IdSource } from '../ids.js';
import { EntityQueries } from '../resources/entity-queries.js';
import { BindDecisionMetrics } from './bind-decisions/bind-decision-metrics.js';
import { BindDecisionQueue } from './bind-decisions/bind-decision-queue.js';
import { GatewayPolicy } from './bind-decisions/gateway-policy.js';
import { ChangeStreams } from './changes/change-streams.js';
import { ChangeWatch } from './changes/change-watch.js';
import { ChangesController } from './changes/changes.controller.js';
import { CredentialChanges } from './changes/credential-changes.js';
import { GatewayAnswers } from './gateway-answers.js';
import { GatewayMetricsController } from './gateway-metrics.controller.js';
import { SshGatewayController } from './ssh-gateway.controller.js';

const logger = new Logger('SshGateway');

/** The app itself must import it, so that Nest stops it before the database: see BindDecisionQueue. */
@Module({
  controllers: [SshGatewayController, ChangesController, GatewayMetricsController],
  providers: [
    {
      provide: ChangeStreams,
      useFactory: (pool: Pool) =>
        new ChangeStreams(new ChangeWatch(new CredentialChanges(pool), (message) => logger.warn(message))),
      inject: [POOL],
    },
    {
      provide: BindDecisionQueue,
      useFactory: (pool: Pool, { decisionsQueueLimit }: GatewayPolicy, metrics: BindDecisionMetrics) =>
        new BindDecisionQueue(pool, decisionsQueueLimit, metrics),
      inject: [POOL, GatewayPolicy, BindDecisionMetrics],
    },
    {
      provide: GatewayAnswers,
      useFactory: (
        pool: Pool,
        { deniedFingerprints }: GatewayPolicy,
        entities: EntityQueries,
        ids: IdSource,
        queue: BindDecisionQueue,
        metrics: BindDecisionMetrics,
      ) => new GatewayAnswers(pool, entities, deniedFingerprints, ids, queue, metrics),
      inject: [POOL, GatewayPolicy, EntityQueries, IdSource, BindDecisionQueue, BindDecisionMetrics],
    },
  ],
})
export class SshGatewayModule {}
