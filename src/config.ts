import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseToken, parseTokens } from './access/authentication/deployment-tokens.js';
import { parseIssuer } from './access/authentication/issuer-url.js';
import type { OidcSettings } from './access/authentication/oidc.js';
import type { RequestLimitSettings } from './access/authentication/request-limits.js';
import type { DatabaseOptions } from './database/database.js';
import { messageOf } from './error-message.js';
import { parseOrigins } from './http/cors.js';
import type { HttpOptions } from './http/http-options.js';
import { LOGGED_REQUESTS, type LoggedRequests } from './http/logging/request-log.js';
import { parseTrustedProxies } from './http/trusted-proxies.js';
import { type CheckpointKey, parseCheckpointKey } from './log/seal/checkpoint-key.js';
import { type MetricsSettings, parseMetricsAddress } from './metrics/metrics-settings.js';
import { UsageError } from './operator-error.js';
import { type KeyPolicy, parseDeniedFingerprints } from './public-keys/public-key.js';
import { LOG_LEVELS, type LogLevel } from './service-log/service-log.js';
import {
  accountId,
  baseUrl,
  bootstrapKey,
  bootstrapKeyFile,
  databaseUrl,
  flag,
  integer,
  oneOf,
  text,
} from './setting-parsers.js';
import type { GatewayPolicy } from './ssh-gateway/bind-decisions/gateway-policy.js';

/**
 * The operator's settings, validated once at start and frozen. Only this file reads settings from the environment. A room
 * that needs settings declares them itself.
 */
export interface Config
  extends DatabaseOptions,
    HttpOptions,
    OidcSettings,
    KeyPolicy,
    GatewayPolicy,
    MetricsSettings,
    RequestLimitSettings {
  readonly host: string;
  readonly port: number;
  /** Maximum number of commands that wait for the log; beyond it the service answers 503. */
  readonly appendQueueLimit: number;
  /** Time after which a feed, a history, an `as_of` request or a list of decisions is answered 503. */
  readonly dearReadTimeoutMs: number;
  /** API key of the first admin, for the first start. */
  readonly bootstrapApiKey: string | undefined;
  /** The same, as a file held it. */
  readonly bootstrapApiKeyFile: string | undefined;
  /** Failed authentications of one source that answer 401 in a minute; further ones answer 429. 0: no limit. */
  readonly authFailuresPerMinute: number;
  /** The tokens of the SSH gateways; empty: the routes for gateways do not exist. */
  readonly gatewayTokens: readonly string[];
  /** Also refuses what only the public ngrok API refuses (docs/settings.md, "Strict mode"). */
  readonly strict: boolean;
  /** Signs the checkpoints of the logs; undefined: that beside an embedded database, or none. */
  readonly checkpointKey: CheckpointKey | undefined;
  readonly logLevel: LogLevel;
  readonly logRequests: LoggedRequests;
  /** Maximum time that a stop waits for running requests. */
  readonly shutdownGraceMs: number;
}

/** The settings are invalid; main prints the problems and exits with 2. */
export class ConfigError extends UsageError {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** One environment variable and its parser. `parse` throws an Error whose message completes the sentence "NAME ...". */
interface Setting<T> {
  readonly name: string;
  /** One cell of the table of docs/settings.md, in Markdown. */
  readonly about: string;
  readonly example: string;
  readonly fallback: T;
  /** Says in the table what happens without the variable, if the fallback itself does not say it. */
  readonly fallbackText?: string;
  readonly parse: (text: string) => T;
  /** A message never quotes a secret value, even if it is invalid. */
  readonly isSecret?: true;
}

const SETTINGS = {
  // Loopback by default: a first start must not be reachable from the network.
  host: {
    name: 'HOST',
    about: 'Address to listen on; `0.0.0.0` for all. The service has no TLS: put a proxy in front.',
    example: '0.0.0.0',
    fallback: '127.0.0.1',
    parse: text,
  },
  // 0: the operating system chooses a free port.
  port: {
    name: 'PORT',
    about: 'Port to listen on; 0 takes a free one.',
    example: '8080',
    fallback: 8080,
    parse: integer(0, 65_535),
  },
  publicUrl: {
    name: 'PUBLIC_URL',
    about: 'Base of every `uri` in answers. Set it behind a proxy.',
    fallbackText: "the request's scheme and host",
    example: 'https://api.example.com',
    fallback: undefined,
    parse: baseUrl,
  },
  databaseUrl: {
    name: 'DATABASE_URL',
    about:
      'PostgreSQL to use, with one or several hosts (`postgres://user@h1:5432,h2:5433/db`); see [database.md](database.md).',
    fallbackText: 'an embedded PostgreSQL',
    example: 'postgres://user:password@db.example.com:5432/tunnel_access',
    fallback: undefined,
    parse: databaseUrl,
    isSecret: true,
  },
  migrationDatabaseUrl: {
    name: 'MIGRATION_DATABASE_URL',
    about:
      'The same database with the role that owns its tables: migrations, rebuilds and restores run as this role, and the role of `DATABASE_URL` gets the rights of the service only. See [database.md](database.md#roles).',
    fallbackText: 'the role of `DATABASE_URL` owns the tables',
    example: 'postgres://owner:password@db.example.com:5432/tunnel_access',
    fallback: undefined,
    parse: databaseUrl,
    isSecret: true,
  },
  dataDir: {
    name: 'DATA_DIR',
    about: 'Folder of the embedded PostgreSQL.',
    fallbackText: '`./data`',
    example: './data',
    fallback: resolve('data'),
    parse: (value: string) => resolve(value),
  },
  databasePoolSize: {
    name: 'DATABASE_POOL_SIZE',
    about: 'Maximum connections to the database for writes, reads of the current state and gateways.',
    example: '10',
    fallback: 10,
    parse: integer(2, 1000),
  },
  // The minimum lets a second account read while one account has as many as it may.
  dearReadConnections: {
    name: 'DEAR_READ_CONNECTIONS',
    about:
      'Further connections, for reads that can cost much: `/events`, histories, `as_of` and `/bind_decisions`. An account has at most half of them.',
    example: '4',
    fallback: 4,
    parse: integer(2, 100),
  },
  dearReadTimeoutMs: {
    name: 'DEAR_READ_TIMEOUT_MS',
    about: 'Time after which such a read is answered 503, and ended in the database.',
    example: '10000',
    fallback: 10_000,
    parse: integer(100, 600_000),
  },
  appendQueueLimit: {
    name: 'APPEND_QUEUE_LIMIT',
    about: 'Maximum changes that wait to be written; further ones are answered 503.',
    example: '10000',
    fallback: 10_000,
    parse: integer(1, 1_000_000),
  },
  preparedStatements: {
    name: 'PREPARED_STATEMENTS',
    about:
      '`false` behind a pooler that shares sessions and knows no named statements, such as PgBouncer before 1.21 in transaction mode. Every request and every command works through it.',
    example: 'false',
    fallback: true,
    parse: flag,
  },
  // A failover of Patroni usually takes less.
  writeDeadlineMs: {
    name: 'WRITE_DEADLINE_MS',
    about:
      'A change that the database did not accept is sent again for this long, then answered 503; not below 1000. Set it above the length of a failover.',
    example: '20000',
    fallback: 20_000,
    parse: integer(1000, 600_000),
  },
  bootstrapApiKey: {
    name: 'BOOTSTRAP_API_KEY',
    about:
      "API key of the first account's admin, 16-255 printable ASCII characters. It takes effect only until this account has had a key. See [The first key](operating.md#the-first-key).",
    fallbackText: 'a random key, printed once, or none',
    example: 'the output of: openssl rand -hex 24',
    fallback: undefined,
    parse: bootstrapKey,
    isSecret: true,
  },
  bootstrapApiKeyFile: {
    name: 'BOOTSTRAP_API_KEY_FILE',
    about: 'File that holds this key instead, such as a secret of a container; read at start.',
    example: '/run/secrets/bootstrap-api-key',
    fallback: undefined,
    parse: bootstrapKeyFile,
  },
  authFailuresPerMinute: {
    name: 'AUTH_FAILURES_PER_MINUTE',
    about:
      'Failed authentications of one address (IPv6: of one /64) that are answered 401; further ones are 429 until the minute is over, while valid keys work. 0: no limit.',
    example: '100',
    fallback: 100,
    parse: integer(0, 1_000_000),
  },
  // Off by default: the public API has no limit of its own that clients expect.
  keyRequestsPerMinute: {
    name: 'KEY_REQUESTS_PER_MINUTE',
    about:
      'Requests of one API key, or of one user with a token, in a minute; further ones are 429. 0: no limit. See [Limits of requests](#limits-of-requests).',
    example: '600',
    fallback: 0,
    parse: integer(0, 100_000_000),
  },
  accountRequestsPerMinute: {
    name: 'ACCOUNT_REQUESTS_PER_MINUTE',
    about: 'The same for all requests of one account.',
    example: '6000',
    fallback: 0,
    parse: integer(0, 100_000_000),
  },
  // Empty by default: any client can send these headers, so they must not identify the caller.
  trustedProxies: {
    name: 'TRUST_PROXY',
    about:
      'Addresses and CIDR ranges of your proxies, comma-separated; `loopback`, `linklocal`, `uniquelocal` name the usual ranges. See [Proxy and TLS](#proxy-and-tls).',
    example: '10.0.0.0/8, 192.0.2.7',
    fallback: [],
    parse: parseTrustedProxies,
  },
  // Empty by default: pages of other origins have no access unless the operator allows them.
  corsOrigins: {
    name: 'CORS_ORIGINS',
    about:
      'Origins whose pages may call from a browser, comma-separated (`https://console.example.com`), or `*` for any. Cookies play no part: keys travel in `Authorization`.',
    example: 'https://console.example.com',
    fallback: [],
    parse: parseOrigins,
  },
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    about:
      'OpenID Connect issuer whose tokens are accepted beside API keys, exactly as its tokens name it (`iss`). `https`, or `http` on loopback. See [oidc.md](oidc.md).',
    example: 'https://login.example.com',
    fallback: undefined,
    parse: parseIssuer,
  },
  oidcAudience: {
    name: 'OIDC_AUDIENCE',
    about: 'What the tokens must name as their audience (`aud`). Set it together with `OIDC_ISSUER`.',
    example: 'tunnel-access',
    fallback: undefined,
    parse: text,
  },
  oidcEmailClaim: {
    name: 'OIDC_EMAIL_CLAIM',
    about: "Claim that holds the user's email address.",
    example: 'email',
    fallback: 'email',
    parse: text,
  },
  oidcRoleClaim: {
    name: 'OIDC_ROLE_CLAIM',
    about: 'Claim that says who is an admin, a text or a list of texts; absent: the role that is stored here.',
    example: 'groups',
    fallback: undefined,
    parse: text,
  },
  oidcAdminValue: {
    name: 'OIDC_ADMIN_VALUE',
    about: 'The text in that claim that makes an admin.',
    example: 'admin',
    fallback: 'admin',
    parse: text,
  },
  oidcAccount: {
    name: 'OIDC_ACCOUNT',
    about: 'Id of the account whose users sign in.',
    fallbackText: 'the oldest account',
    example: 'ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA',
    fallback: undefined,
    parse: accountId,
  },
  oidcCreateUsers: {
    name: 'OIDC_CREATE_USERS',
    about: 'Create a user, as a member, if the email address of a token has no user.',
    example: 'true',
    fallback: false,
    parse: flag,
  },
  minRsaBits: {
    name: 'MIN_RSA_BITS',
    about: 'Minimum length of an RSA key that is uploaded; not below 1024.',
    example: '3072',
    fallback: 2048,
    parse: integer(1024, 16_384),
  },
  // Read once, at start: if the file vanishes later, its keys must stay denied.
  deniedFingerprints: {
    name: 'DENIED_KEYS_FILE',
    about:
      'File of SHA-256 fingerprints (`SHA256:...`, one a line, `#` comments) of keys that are refused; read at start.',
    example: '/etc/tunnel-access/denied-keys',
    fallback: new Set(),
    parse: (path: string) => parseDeniedFingerprints(readFileSync(path, 'utf8')),
  },
  // Empty by default: a gateway reads across accounts, so the operator must name its token.
  gatewayTokens: {
    name: 'GATEWAY_TOKENS',
    about:
      'Tokens of SSH gateways, comma-separated, each 20-255 printable ASCII characters without blanks, `"` and `\\`. Without a token the routes of gateways do not exist.',
    example: 'the output of: openssl rand -hex 24',
    fallback: [],
    parse: parseTokens,
    isSecret: true,
  },
  // The minimum is the largest number of decisions in one request, which otherwise could never succeed.
  decisionsQueueLimit: {
    name: 'DECISIONS_QUEUE_LIMIT',
    about:
      'Maximum bind decisions that wait to be recorded; further questions of gateways are answered 503. Not below 1000.',
    example: '10000',
    fallback: 10_000,
    parse: integer(1000, 1_000_000),
  },
  decisionsRetentionDays: {
    name: 'DECISIONS_RETENTION_DAYS',
    about: 'Time for which bind decisions are kept; 0: for ever.',
    example: '90',
    fallback: 90,
    parse: integer(0, 36_500),
  },
  strict: {
    name: 'STRICT',
    about: 'Refuse what only the public ngrok API refuses; see [Strict mode](#strict-mode).',
    example: 'true',
    fallback: false,
    parse: flag,
  },
  checkpointKey: {
    name: 'CHECKPOINT_KEY',
    about:
      'Key that signs the checkpoints of the logs, or the file that holds it; `audit key NAME` makes one. Keep it outside of the database. See [evidence.md](evidence.md).',
    fallbackText:
      '`checkpoint-key` in `DATA_DIR`, made at the first start; with `DATABASE_URL` none: checkpoints are off',
    example: '/run/secrets/checkpoint-key',
    fallback: undefined,
    parse: parseCheckpointKey,
    isSecret: true,
  },
  // Closed by default: the metrics tell how much the deployment is used, and by which routes.
  metricsToken: {
    name: 'METRICS_TOKEN',
    about:
      'Token that opens `GET /metrics` to Prometheus, of the same form as a gateway token. Without it the route does not exist. See [monitoring.md](monitoring.md).',
    example: 'the output of: openssl rand -hex 24',
    fallback: undefined,
    parse: parseToken,
    isSecret: true,
  },
  metricsAddress: {
    name: 'METRICS_LISTEN',
    about:
      'Address and port that serve `GET /metrics` and nothing else, without a token. Choose an address that only Prometheus can reach.',
    example: '127.0.0.1:9464',
    fallback: undefined,
    parse: parseMetricsAddress,
  },
  logLevel: {
    name: 'LOG_LEVEL',
    about: '`error`, `warn`, `info` or `debug`. See [logs.md](logs.md).',
    example: 'info',
    fallback: 'info',
    parse: oneOf(LOG_LEVELS),
  },
  logRequests: {
    name: 'LOG_REQUESTS',
    about: '`changes`: the log has a line for every error and every change. `all`: for every request.',
    example: 'all',
    fallback: 'changes',
    parse: oneOf(LOGGED_REQUESTS),
  },
  shutdownGraceMs: {
    name: 'SHUTDOWN_GRACE_MS',
    about: 'Maximum time that a stop waits for running requests.',
    example: '10000',
    fallback: 10_000,
    parse: integer(0, 600_000),
  },
} satisfies { [K in keyof Config]: Setting<Config[K]> };

function explain(setting: Setting<unknown>, value: string, error: unknown): string {
  const quotedValue = setting.isSecret === true ? '' : ` '${value}'`;
  return `${setting.name}${quotedValue} ${messageOf(error)}; for example: ${setting.example}`;
}

/** The table of docs/settings.md: a row of Markdown for each setting. */
export const settingsTable = (): string =>
  ['| variable | default | |', '|---|---|---|', ...Object.values(SETTINGS).map(rowOf)].join('\n');

const rowOf = ({ name, about, fallback, fallbackText }: Setting<unknown>): string =>
  `| \`${name}\` | ${fallbackText ?? defaultOf(fallback)} | ${about} |`;

const defaultOf = (fallback: unknown): string =>
  fallback === undefined || fallback instanceof Object ? 'none' : `\`${fallback}\``;

/** The key of the first admin that the operator chose, whichever setting has it. */
export const bootstrapKeyOf = (config: Pick<Config, 'bootstrapApiKey' | 'bootstrapApiKeyFile'>): string | undefined =>
  config.bootstrapApiKey ?? config.bootstrapApiKeyFile;

/** Reads all settings and reports all problems at once. An empty variable counts as absent. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const problems: string[] = [];
  const entries = Object.entries(SETTINGS).map(([key, setting]: [string, Setting<unknown>]) => {
    const value = environment[setting.name];
    if (value === undefined || value === '') return [key, setting.fallback];
    try {
      return [key, setting.parse(value)];
    } catch (error) {
      problems.push(explain(setting, value, error));
      return [key, setting.fallback];
    }
  });
  const config = Object.fromEntries(entries) as Config;
  if (problems.length === 0) problems.push(...contradictionsIn(config));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(config);
}

/**
 * Problems of settings that are each valid but contradict each other. An issuer needs an audience: without one, a token
 * that the issuer made for another program would give access here.
 */
function contradictionsIn({ oidcIssuer, oidcAudience, metricsAddress, port, ...config }: Config): string[] {
  const { bootstrapApiKey, bootstrapApiKeyFile, gatewayTokens, metricsToken } = config;
  if (config.migrationDatabaseUrl !== undefined && config.databaseUrl === undefined) {
    return ['MIGRATION_DATABASE_URL is set without DATABASE_URL'];
  }
  if (metricsAddress?.port === port) return ['METRICS_LISTEN has the port of the service (PORT); choose another'];
  if (bootstrapApiKey !== undefined && bootstrapApiKeyFile !== undefined) {
    return ['BOOTSTRAP_API_KEY and BOOTSTRAP_API_KEY_FILE are both set; set one of them'];
  }
  // An API key, a gateway token and the metrics token must not give access to each other's routes.
  const bootstrapKey = bootstrapKeyOf(config);
  const nameOfKey = bootstrapApiKeyFile === undefined ? 'BOOTSTRAP_API_KEY' : 'the key in BOOTSTRAP_API_KEY_FILE';
  if (gatewayTokens.includes(bootstrapKey ?? '')) return [`${nameOfKey} is one of GATEWAY_TOKENS; make another`];
  if (metricsToken !== undefined && [...gatewayTokens, bootstrapKey].includes(metricsToken)) {
    return [`METRICS_TOKEN is also ${nameOfKey} or one of GATEWAY_TOKENS; make another`];
  }
  if (metricsToken !== undefined && [...gatewayTokens, bootstrapApiKey].includes(metricsToken)) {
    return ['METRICS_TOKEN is also BOOTSTRAP_API_KEY or one of GATEWAY_TOKENS; make another'];
  }
  if (oidcIssuer !== undefined && oidcAudience === undefined) return ['OIDC_ISSUER is set without OIDC_AUDIENCE'];
  if (oidcIssuer === undefined && oidcAudience !== undefined) return ['OIDC_AUDIENCE is set without OIDC_ISSUER'];
  return [];
}
