import { type DynamicModule, Logger, Module, type Provider } from '@nestjs/common';
import { CqrsModule } from '@nestjs/cqrs';
import { AuditReads, type Database, Incidents, POOL } from '../database/index.js';
import { Checkpoints, EventLog, LogPositions, LogReader, LogTail, SealedLogs } from '../event-log/index.js';
import { IdSource } from '../kernel/ids.js';
import { AccountsModule } from './access/accounts/accounts.module.js';
import { ApiKeysModule } from './access/api-keys/api-keys.module.js';
import { API_KEYS } from './access/api-keys/api-keys.resource.js';
import { Authentication } from './access/authentication/authentication.js';
import { DeploymentTokens } from './access/authentication/deployment-tokens.js';
import { FailureLimit } from './access/authentication/failure-limit.js';
import { gatewayOf } from './access/authentication/gateway-tokens.js';
import { oidcOf } from './access/authentication/oidc.js';
import { AuditModule } from './audit/audit.module.js';
import { CloudEvents } from './audit/cloud-events.js';
import { EvidenceModule } from './audit/evidence/evidence.module.js';
import { CallerModule } from './caller/caller.module.js';
import type { Config } from './config/config.js';
import { ConsoleModule } from './console/console.controller.js';
import { EnrollmentKeysModule } from './enrollment-keys/enrollment-keys.module.js';
import { ENROLLMENT_KEYS } from './enrollment-keys/enrollment-keys.resource.js';
import { ChecksModule } from './gateway-api/checks/checks.module.js';
import { BindDecisionMetrics } from './gateway-api/decision-record/bind-decision-metrics.js';
import { BindDecisionsModule } from './gateway-api/decision-record/bind-decisions.module.js';
import { GatewayPolicy } from './gateway-api/decisions/gateway-policy.js';
import { GatewayApiModule } from './gateway-api/gateway-api.module.js';
import { RecordsModule } from './gateway-api/records/records.module.js';
import { HealthModule } from './health/health.module.js';
import { Authenticator } from './http/authenticator.js';
import { ApiDocument, OpenApiModule } from './http/openapi/openapi.controller.js';
import { StopNotice } from './http/stop-notice.js';
import { IpPoliciesModule } from './ip-policies/ip-policies.module.js';
import { metricsModules } from './metrics/metrics.module.js';
import { READ_MODELS } from './read-models.js';
import { ReservationPolicy, withPublicHost } from './reservations/address-pools.js';
import { ReservationsModule } from './reservations/reservations.module.js';
import { ReservedForSshd } from './reservations/reserved-for-sshd.js';
import { ReservedNames } from './reservations/reserved-names.js';
import { TlsAskPolicy } from './reservations/tls-ask.controller.js';
import { Changes } from './resources/changes.js';
import { EdgeReferences } from './resources/edge-references.js';
import { EntityQueries } from './resources/entity-queries.js';
import { Idempotency } from './resources/idempotency.js';
import { Lists } from './resources/lists.js';
import { OwnedEntities } from './resources/owned-entities.js';
import { Owners } from './resources/owners.js';
import { Reads } from './resources/reads.js';
import { SshCredentialPolicy } from './ssh-credentials/ssh-credentials.handlers.js';
import { SshCredentialsModule } from './ssh-credentials/ssh-credentials.module.js';
import { SSH_CREDENTIALS } from './ssh-credentials/ssh-credentials.resource.js';
import { TcpEdgePolicy } from './tcp-edges/hostport-claims.js';
import { TcpEdgesModule } from './tcp-edges/tcp-edges.module.js';
import { TunnelGroupsModule } from './tunnel-groups/tunnel-groups.module.js';
import { TunnelSessionsModule } from './tunnel-sessions/tunnel-sessions.module.js';

/** Objects that are made before Nest starts and that every module shares. */
export interface Foundation {
  readonly config: Config;
  readonly database: Database;
  readonly eventLog: EventLog;
  readonly ids: IdSource;
  readonly checkpoints: Checkpoints;
  readonly stopNotice: StopNotice;
}

const makeAuthentication = ({ config, database: { pool } }: Foundation, changes: Changes): Authentication =>
  new Authentication(pool, new FailureLimit(config.authFailuresPerMinute), oidcOf(config, pool, changes), {
    'gateway token': new DeploymentTokens(config.gatewayTokens.map((gateway) => [gateway.token, gatewayOf(gateway)])),
    'metrics token': new DeploymentTokens(config.metricsToken === undefined ? [] : [[config.metricsToken, {}]]),
  });

@Module({})
class AppModule {}

/** The one place that wires the objects of the service. */
export function appModule(foundation: Foundation): DynamicModule {
  const providers = [...storageOf(foundation), ...settingsOf(foundation), ...sharedBy(foundation)];
  return { module: AppModule, global: true, imports: modulesOf(foundation), providers, exports: providers };
}

/** The classes of the database and of the log know nothing of Nest, so this makes them. */
function storageOf({ config, database, eventLog, checkpoints }: Foundation): Provider[] {
  const { pool, auditReadPool } = database;
  const logger = new Logger('Log');
  return [
    { provide: POOL, useValue: pool },
    { provide: AuditReads, useValue: new AuditReads(auditReadPool, config.auditReadTimeoutMs) },
    { provide: Incidents, useValue: new Incidents(pool, new Logger('Incidents')) },
    { provide: EventLog, useValue: eventLog },
    { provide: LogReader, useValue: new LogReader(pool) },
    { provide: LogPositions, useValue: new LogPositions(pool) },
    { provide: LogTail, useValue: new LogTail(pool, (message) => logger.warn(message)) },
    { provide: SealedLogs, useValue: new SealedLogs(pool) },
    { provide: Checkpoints, useValue: checkpoints },
  ];
}

/** What is made of the operator's settings alone. */
const settingsOf = ({ config }: Foundation): Provider[] => [
  { provide: SshCredentialPolicy, useValue: { strict: config.strict, keys: config } },
  { provide: TcpEdgePolicy, useValue: { strict: config.strict } },
  { provide: GatewayPolicy, useValue: config },
  { provide: ReservationPolicy, useValue: withPublicHost(config, config.publicUrl) },
  { provide: TlsAskPolicy, useValue: config },
  // The service's metrics have these too, with and without gateways.
  { provide: BindDecisionMetrics, useValue: new BindDecisionMetrics(config.gatewayTokens) },
  { provide: ApiDocument, useValue: new ApiDocument(config.publicUrl ?? '/', config) },
];

/** What the resources share. */
const sharedBy = (foundation: Foundation): Provider[] => [
  { provide: IdSource, useValue: foundation.ids },
  { provide: StopNotice, useValue: foundation.stopNotice },
  EntityQueries,
  Idempotency,
  Changes,
  Lists,
  Reads,
  Owners,
  ReservedNames,
  ReservedForSshd,
  {
    provide: OwnedEntities,
    useFactory: (entities: EntityQueries) => new OwnedEntities(entities, [API_KEYS, ENROLLMENT_KEYS, SSH_CREDENTIALS]),
    inject: [EntityQueries],
  },
  { provide: EdgeReferences, useValue: new EdgeReferences(foundation.database.pool, foundation.config.strict) },
  { provide: CloudEvents, useValue: new CloudEvents(READ_MODELS) },
  {
    provide: Authentication,
    useFactory: (changes: Changes) => makeAuthentication(foundation, changes),
    inject: [Changes],
  },
  { provide: Authenticator, useExisting: Authentication },
];

const modulesOf = ({ config, database }: Foundation): NonNullable<DynamicModule['imports']> => [
  CqrsModule.forRoot(),
  // In the order of the API's document.
  SshCredentialsModule,
  TcpEdgesModule,
  ReservationsModule,
  IpPoliciesModule,
  TunnelGroupsModule,
  AccountsModule,
  ApiKeysModule,
  EnrollmentKeysModule,
  CallerModule,
  TunnelSessionsModule,
  BindDecisionsModule,
  RecordsModule,
  ChecksModule,
  // Without tokens no gateway can authenticate, so its routes do not exist.
  ...(config.gatewayTokens.length > 0 ? [GatewayApiModule] : []),
  AuditModule,
  EvidenceModule,
  HealthModule,
  ...metricsModules(config, database),
  OpenApiModule,
  ...(config.console ? [ConsoleModule] : []),
];
