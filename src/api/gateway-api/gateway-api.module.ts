import { Logger, Module } from '@nestjs/common';
import type { Pool } from 'pg';
import { POOL } from '../../database/index.js';
import { LogTail } from '../../event-log/index.js';
import { PolicyReader } from '../../rules/index.js';
import { EdgesByHostport } from '../tcp-edges/tcp-edges.read-model.js';
import { BindsController } from './binds/binds.controller.js';
import { GatewayAnswers } from './binds/gateway-answers.js';
import { BindDecisionQueue } from './decision-record/bind-decision-queue.js';
import { EdgeChanges } from './edges/edge-changes.js';
import { EdgePolicies } from './edges/edge-policies.js';
import { EdgePorts } from './edges/edge-ports.js';
import { GatewayEdgesController } from './edges/gateway-edges.controller.js';
import { GatewayEdges } from './edges/gateway-edges.js';
import { ReadEdges } from './edges/read-edges.js';
import { ServedEdgesController } from './edges/served-edges.controller.js';
import { GatewayMetricsController } from './gateway-metrics.controller.js';
import { CredentialChanges } from './revocations/credential-changes.js';
import { RevocationsController } from './revocations/revocations.controller.js';
import { DoubledKeys } from './sessions/doubled-keys.js';
import { SessionReports } from './sessions/session-reports.js';
import { SessionReportsController } from './sessions/sessions.controller.js';
import { SilentGateways } from './sessions/silent-gateways.js';

const logger = new Logger('SshGateway');
const warn = (message: string): void => logger.warn(message);

/** The app itself must import it, so that Nest stops it before the database: see BindDecisionQueue. */
@Module({
  controllers: [
    BindsController,
    ServedEdgesController,
    GatewayEdgesController,
    RevocationsController,
    GatewayMetricsController,
    SessionReportsController,
  ],
  providers: [
    { provide: EdgesByHostport, useFactory: (pool: Pool) => new EdgesByHostport(pool), inject: [POOL] },
    EdgePolicies,
    { provide: PolicyReader, useFactory: () => new PolicyReader() },
    ReadEdges,
    GatewayEdges,
    EdgePorts,
    {
      provide: CredentialChanges,
      useFactory: (tail: LogTail, pool: Pool) => new CredentialChanges(tail, pool, warn),
      inject: [LogTail, POOL],
    },
    {
      provide: EdgeChanges,
      useFactory: (tail: LogTail, pool: Pool) => new EdgeChanges(tail, pool, warn),
      inject: [LogTail, POOL],
    },
    BindDecisionQueue,
    GatewayAnswers,
    SessionReports,
    SilentGateways,
    DoubledKeys,
  ],
})
export class GatewayApiModule {}
