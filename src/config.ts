import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseGatewayTokens } from './access/authentication/gateway-tokens.js';
import { parseIssuer } from './access/authentication/issuer-url.js';
import type { OidcSettings } from './access/authentication/oidc.js';
import type { RequestLimitSettings } from './access/authentication/request-limits.js';
import type { DatabaseOptions } from './database/database.js';
import { parseDatabaseUrl } from './database/database-url.js';
import { messageOf } from './error-message.js';
import { parseOrigins } from './http/cors.js';
import type { HttpOptions } from './http/http-options.js';
import { parseTrustedProxies } from './http/trusted-proxies.js';
import { isId } from './ids.js';
import { UsageError } from './operator-error.js';
import { type KeyPolicy, parseDeniedFingerprints } from './public-keys/public-key.js';
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
    RequestLimitSettings {
  readonly host: string;
  readonly port: number;
  /** Maximum number of commands that wait for the log; beyond it the service answers 503. */
  readonly appendQueueLimit: number;
  /** Time after which a feed, a history, an `as_of` request or a list of decisions is answered 503. */
  readonly dearReadTimeoutMs: number;
  /** API key of the first admin, for the first start; undefined: the service makes one. */
  readonly bootstrapApiKey: string | undefined;
  /** Failed authentications of one source that answer 401 in a minute; further ones answer 429. 0: no limit. */
  readonly authFailuresPerMinute: number;
  /** The tokens of the SSH gateways; empty: the routes for gateways do not exist. */
  readonly gatewayTokens: readonly string[];
  /** Also refuses what only the public ngrok API refuses (README, "Strict mode"). */
  readonly strict: boolean;
  readonly logLevel: LogLevel;
  /** Maximum time that a stop waits for running requests. */
  readonly shutdownGraceMs: number;
}

const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

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
  readonly example: string;
  readonly fallback: T;
  readonly parse: (text: string) => T;
  /** A message never quotes a secret value, even if it is invalid. */
  readonly isSecret?: true;
}

const text = (value: string): string => value;

const integer =
  (min: number, max: number) =>
  (value: string): number => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(parsed >= min && parsed <= max)) throw new Error(`must be a whole number from ${min} to ${max}`);
    return parsed;
  };

const flag = (value: string): boolean => {
  if (['true', '1', 'yes', 'on'].includes(value.toLowerCase())) return true;
  if (['false', '0', 'no', 'off'].includes(value.toLowerCase())) return false;
  throw new Error('must be true or false');
};

const oneOf =
  <T extends string>(values: readonly T[]) =>
  (value: string): T => {
    const found = values.find((candidate) => candidate === value);
    if (found === undefined) throw new Error(`must be one of ${values.join(', ')}`);
    return found;
  };

const url =
  (...protocols: string[]) =>
  (value: string): string => {
    const parsed = URL.canParse(value) ? new URL(value) : undefined;
    if (parsed === undefined || !protocols.includes(parsed.protocol)) {
      throw new Error(`must be a URL that starts with ${protocols.map((p) => `${p}//`).join(' or ')}`);
    }
    return value;
  };

const databaseUrl = (value: string): string => {
  parseDatabaseUrl(value);
  return value;
};

const baseUrl = (value: string): string => {
  const parsed = new URL(url('http:', 'https:')(value));
  if (parsed.search !== '' || parsed.hash !== '') throw new Error('must not have a query or a fragment');
  return value.replace(/\/+$/, '');
};

/** 16 to 255 printable ASCII characters without blanks: a header can carry them, and they are hard to guess. */
const bootstrapKey = (value: string): string => {
  if (value.length < 16) throw new Error(`is ${value.length} characters long; the minimum is 16`);
  if (value.length > 255) throw new Error(`is ${value.length} characters long; the maximum is 255`);
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error('must hold printable ASCII characters only, without blanks');
  return value;
};

const accountId = (value: string): string => {
  if (!isId(value, 'ac')) throw new Error('must be the id of an account');
  return value;
};

const SETTINGS = {
  // Loopback by default: a first start must not be reachable from the network.
  host: { name: 'HOST', example: '0.0.0.0', fallback: '127.0.0.1', parse: text },
  // 0: the operating system chooses a free port.
  port: { name: 'PORT', example: '8080', fallback: 8080, parse: integer(0, 65_535) },
  publicUrl: { name: 'PUBLIC_URL', example: 'https://api.example.com', fallback: undefined, parse: baseUrl },
  databaseUrl: {
    name: 'DATABASE_URL',
    example: 'postgres://user:password@db.example.com:5432/tunnel_access',
    fallback: undefined,
    parse: databaseUrl,
    isSecret: true,
  },
  dataDir: { name: 'DATA_DIR', example: './data', fallback: resolve('data'), parse: (value: string) => resolve(value) },
  databasePoolSize: { name: 'DATABASE_POOL_SIZE', example: '10', fallback: 10, parse: integer(2, 1000) },
  // The minimum lets a second account read while one account has as many as it may.
  dearReadConnections: { name: 'DEAR_READ_CONNECTIONS', example: '4', fallback: 4, parse: integer(2, 100) },
  dearReadTimeoutMs: {
    name: 'DEAR_READ_TIMEOUT_MS',
    example: '10000',
    fallback: 10_000,
    parse: integer(100, 600_000),
  },
  appendQueueLimit: {
    name: 'APPEND_QUEUE_LIMIT',
    example: '10000',
    fallback: 10_000,
    parse: integer(1, 1_000_000),
  },
  preparedStatements: { name: 'PREPARED_STATEMENTS', example: 'false', fallback: true, parse: flag },
  // A failover of Patroni usually takes less.
  writeDeadlineMs: { name: 'WRITE_DEADLINE_MS', example: '20000', fallback: 20_000, parse: integer(1000, 600_000) },
  bootstrapApiKey: {
    name: 'BOOTSTRAP_API_KEY',
    example: 'the output of: openssl rand -hex 24',
    fallback: undefined,
    parse: bootstrapKey,
    isSecret: true,
  },
  authFailuresPerMinute: {
    name: 'AUTH_FAILURES_PER_MINUTE',
    example: '100',
    fallback: 100,
    parse: integer(0, 1_000_000),
  },
  // Off by default: the public API has no limit of its own that clients expect.
  keyRequestsPerMinute: {
    name: 'KEY_REQUESTS_PER_MINUTE',
    example: '600',
    fallback: 0,
    parse: integer(0, 100_000_000),
  },
  accountRequestsPerMinute: {
    name: 'ACCOUNT_REQUESTS_PER_MINUTE',
    example: '6000',
    fallback: 0,
    parse: integer(0, 100_000_000),
  },
  // Empty by default: any client can send these headers, so they must not identify the caller.
  trustedProxies: { name: 'TRUST_PROXY', example: '10.0.0.0/8, 192.0.2.7', fallback: [], parse: parseTrustedProxies },
  // Empty by default: pages of other origins have no access unless the operator allows them.
  corsOrigins: { name: 'CORS_ORIGINS', example: 'https://console.example.com', fallback: [], parse: parseOrigins },
  oidcIssuer: { name: 'OIDC_ISSUER', example: 'https://login.example.com', fallback: undefined, parse: parseIssuer },
  oidcAudience: { name: 'OIDC_AUDIENCE', example: 'tunnel-access', fallback: undefined, parse: text },
  oidcEmailClaim: { name: 'OIDC_EMAIL_CLAIM', example: 'email', fallback: 'email', parse: text },
  oidcRoleClaim: { name: 'OIDC_ROLE_CLAIM', example: 'groups', fallback: undefined, parse: text },
  oidcAdminValue: { name: 'OIDC_ADMIN_VALUE', example: 'admin', fallback: 'admin', parse: text },
  oidcAccount: {
    name: 'OIDC_ACCOUNT',
    example: 'ac_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA',
    fallback: undefined,
    parse: accountId,
  },
  oidcCreateUsers: { name: 'OIDC_CREATE_USERS', example: 'true', fallback: false, parse: flag },
  minRsaBits: { name: 'MIN_RSA_BITS', example: '3072', fallback: 2048, parse: integer(1024, 16_384) },
  // Read once, at start: if the file vanishes later, its keys must stay denied.
  deniedFingerprints: {
    name: 'DENIED_KEYS_FILE',
    example: '/etc/tunnel-access/denied-keys',
    fallback: new Set(),
    parse: (path: string) => parseDeniedFingerprints(readFileSync(path, 'utf8')),
  },
  // Empty by default: a gateway reads across accounts, so the operator must name its token.
  gatewayTokens: {
    name: 'GATEWAY_TOKENS',
    example: 'the output of: openssl rand -hex 24',
    fallback: [],
    parse: parseGatewayTokens,
    isSecret: true,
  },
  // The minimum is the largest number of decisions in one request, which otherwise could never succeed.
  decisionsQueueLimit: {
    name: 'DECISIONS_QUEUE_LIMIT',
    example: '10000',
    fallback: 10_000,
    parse: integer(1000, 1_000_000),
  },
  decisionsRetentionDays: {
    name: 'DECISIONS_RETENTION_DAYS',
    example: '90',
    fallback: 90,
    parse: integer(0, 36_500),
  },
  strict: { name: 'STRICT', example: 'true', fallback: false, parse: flag },
  logLevel: { name: 'LOG_LEVEL', example: 'info', fallback: 'info', parse: oneOf(LOG_LEVELS) },
  shutdownGraceMs: { name: 'SHUTDOWN_GRACE_MS', example: '10000', fallback: 10_000, parse: integer(0, 600_000) },
} satisfies { [K in keyof Config]: Setting<Config[K]> };

function explain(setting: Setting<unknown>, value: string, error: unknown): string {
  const quotedValue = setting.isSecret === true ? '' : ` '${value}'`;
  return `${setting.name}${quotedValue} ${messageOf(error)}; for example: ${setting.example}`;
}

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
function contradictionsIn({ oidcIssuer, oidcAudience, bootstrapApiKey, gatewayTokens }: Config): string[] {
  // An API key and a gateway token must not give access to each other's routes.
  if (bootstrapApiKey !== undefined && gatewayTokens.includes(bootstrapApiKey)) {
    return ['BOOTSTRAP_API_KEY is one of GATEWAY_TOKENS; make another'];
  }
  if (oidcIssuer !== undefined && oidcAudience === undefined) return ['OIDC_ISSUER is set without OIDC_AUDIENCE'];
  if (oidcIssuer === undefined && oidcAudience !== undefined) return ['OIDC_AUDIENCE is set without OIDC_ISSUER'];
  return [];
}
