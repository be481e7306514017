import { type DynamicModule, Logger, Module } from '@nestjs/common';
import { CommandBus, CqrsModule } from '@nestjs/cqrs';
import { TypeOrmModule } from '@nestjs/typeorm';
import { AccessModule } from './access/access.module.js';
import { ApiKeys } from './access/access.queries.js';
import { Authentication } from './access/authentication/authentication.js';
import { FailureLimit } from './access/authentication/failure-limit.js';
import { GatewayTokens } from './access/authentication/gateway-tokens.js';
import { oidcOf } from './access/authentication/oidc.js';
import { AuditModule } from './audit/audit.module.js';
import { CloudEvents } from './audit/cloud-events.js';
import type { Config } from './config.js';
import { type Database, POOL } from './database/database.js';
import { Authenticator } from './http/authenticator.js';
import { ApiDocument, OpenApiModule } from './http/openapi/openapi.controller.js';
import type { IdSource } from './ids.js';
import { DEFAULT_BATCHER_LIMITS } from './log/append/batcher.js';
import { EventLog } from './log/append/event-log.js';
import { AsOfQueries } from './log/read/as-of-queries.js';
import { LogPositions } from './log/read/log-positions.js';
import { LogReader } from './log/read/log-reader.js';
import { READ_MODELS } from './read-models.js';
import { Streams } from './resources/changes.js';
import { Mutations } from './resources/mutation.js';
import { OWNED_THINGS } from './resources/owned-things.js';
import { Owners } from './resources/owners.js';
import { Logs } from './resources/resource.js';
import { SshCredentialPolicy } from './ssh-credentials/ssh-credentials.commands.js';
import { SshCredentialsModule } from './ssh-credentials/ssh-credentials.module.js';
import { SshCredentials } from './ssh-credentials/ssh-credentials.read-model.js';
import { BindDecisionsModule } from './ssh-gateway/bind-decisions/bind-decisions.module.js';
import { GatewayPolicy } from './ssh-gateway/bind-decisions/gateway-policy.js';
import { SshGatewayModule } from './ssh-gateway/ssh-gateway.module.js';
import { TcpEdgePolicy } from './tcp-edges/hostport-claims.js';
import { TcpEdgesModule } from './tcp-edges/tcp-edges.module.js';

/** What is made before Nest starts and shared by every module. */
export interface Foundation {
  readonly config: Config;
  readonly database: Database;
  readonly ids: IdSource;
}

export const makeEventLog = ({ config, database }: Pick<Foundation, 'config' | 'database'>): EventLog => {
  const logger = new Logger('EventLog');
  const limits = { ...DEFAULT_BATCHER_LIMITS, queuedItems: config.appendQueueLimit };
  return new EventLog(database.pool, (message) => logger.fatal(message), limits);
};

const authenticationOf = (config: Config, { pool }: Database, streams: Streams): Authentication =>
  new Authentication(
    pool,
    new FailureLimit(config.authFailuresPerMinute),
    oidcOf(config, pool, streams),
    new GatewayTokens(config.gatewayTokens),
  );

const logsOf = ({ pool }: Database): Logs => {
  const reader = new LogReader(pool);
  return new Logs(new LogPositions(pool), reader, new AsOfQueries(pool, reader));
};

@Module({})
class AppModule {}

/** The one place where things are wired. */
export function appModule({ config, database, ids }: Foundation, eventLog: EventLog): DynamicModule {
  const streams = new Streams(eventLog, ids);
  const logs = logsOf(database);
  const authentication = authenticationOf(config, database, streams);
  const providers = [
    { provide: POOL, useValue: database.pool },
    { provide: EventLog, useValue: eventLog },
    { provide: Streams, useValue: streams },
    { provide: Authentication, useValue: authentication },
    { provide: Authenticator, useValue: authentication },
    { provide: SshCredentialPolicy, useValue: { strict: config.strict, keys: config } },
    { provide: Logs, useValue: logs },
    {
      provide: Mutations,
      useFactory: (commands: CommandBus) => new Mutations(commands, logs.reader),
      inject: [CommandBus],
    },
    { provide: Owners, useValue: new Owners(database.pool) },
    { provide: OWNED_THINGS, useValue: [new ApiKeys(database.pool), new SshCredentials(database.pool)] },
    { provide: TcpEdgePolicy, useValue: { strict: config.strict } },
    { provide: GatewayPolicy, useValue: config },
    { provide: CloudEvents, useValue: new CloudEvents(READ_MODELS) },
    { provide: ApiDocument, useValue: new ApiDocument() },
  ];
  return {
    module: AppModule,
    global: true,
    imports: [
      TypeOrmModule.forRootAsync({
        useFactory: () => database.dataSource.options,
        // Opened and migrated before Nest starts, and closed after Nest has stopped: see app.ts.
        dataSourceFactory: () => Promise.resolve(database.dataSource),
      }),
      CqrsModule.forRoot(),
      // In the order of the API's document.
      SshCredentialsModule,
      TcpEdgesModule,
      AccessModule,
      BindDecisionsModule,
      // Without tokens there is nobody to answer, and no door to try.
      ...(config.gatewayTokens.length > 0 ? [SshGatewayModule] : []),
      AuditModule,
      OpenApiModule,
    ],
    providers,
    exports: providers.map(({ provide }) => provide),
  };
}
