import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parseGatewayTokens } from './access/authentication/gateway-tokens.js';
import { parseIssuer } from './access/authentication/issuer-url.js';
import { parseOrigins } from './http/headers.js';
import { parseTrustedProxies } from './http/trusted-proxies.js';
import { isId } from './ids.js';
import { UsageError } from './operator-error.js';
import { parseDeniedFingerprints } from './public-keys/public-key.js';

/** What the operator decided, validated once at start and frozen. Nothing else in the service reads the environment. */
export interface Config {
  readonly host: string;
  readonly port: number;
  /** Base of every `uri` in an answer; undefined: the scheme and host of the request itself. */
  readonly publicUrl: string | undefined;
  /** A PostgreSQL to use; undefined: an embedded one with its data under `dataDir`. */
  readonly databaseUrl: string | undefined;
  readonly dataDir: string;
  readonly databasePoolSize: number;
  /** Commands that may wait for the log before callers are told to come back (503). */
  readonly appendQueueLimit: number;
  readonly bootstrapApiKey: string | undefined;
  /** Failed authentications of one source that are answered as such; the rest of the minute is 429. 0: no limit. */
  readonly authFailuresPerMinute: number;
  /** Addresses and CIDR ranges that may say, by X-Forwarded-For, on whose behalf they call. */
  readonly trustedProxies: readonly string[];
  /** Origins whose pages may call from a browser; `*`: any. */
  readonly corsOrigins: readonly string[];
  /** Together with `oidcAudience`: tokens of this OpenID Connect issuer are taken beside API keys. */
  readonly oidcIssuer: string | undefined;
  readonly oidcAudience: string | undefined;
  /** The claim that holds the user's email address. */
  readonly oidcEmailClaim: string;
  /** The claim that says whether the user is an admin; undefined: the role stored for the user. */
  readonly oidcRoleClaim: string | undefined;
  readonly oidcAdminValue: string;
  /** The account whose users sign in; undefined: the oldest. */
  readonly oidcAccount: string | undefined;
  readonly oidcCreateUsers: boolean;
  /** Smallest RSA key that may be uploaded, in bits. */
  readonly minRsaBits: number;
  /** `SHA256:...` fingerprints of keys that may not be uploaded. */
  readonly deniedFingerprints: ReadonlySet<string>;
  /** What SSH gateways authenticate with; none: their routes do not exist. */
  readonly gatewayTokens: readonly string[];
  /** Decisions about binds that may wait to be written; when there are more, gateways are answered 503. */
  readonly decisionsQueueLimit: number;
  /** How long decisions about binds are kept. 0: for ever. */
  readonly decisionsRetentionDays: number;
  /** Refuse what only the public ngrok API refuses (README, "Strict mode"). */
  readonly strict: boolean;
  readonly logLevel: LogLevel;
  /** How long a stop waits for requests in flight. */
  readonly shutdownGraceMs: number;
}

export const LOG_LEVELS = ['error', 'warn', 'info', 'debug'] as const;
export type LogLevel = (typeof LOG_LEVELS)[number];

/** The environment does not describe a runnable service. The message has a line for each problem. */
export class ConfigError extends UsageError {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** One environment variable: how its text becomes a value. `parse` throws an Error whose message completes "NAME ...". */
interface Setting<T> {
  readonly name: string;
  readonly example: string;
  readonly fallback: T;
  readonly parse: (text: string) => T;
  /** A value that must not be printed, not even when it is wrong. */
  readonly isSecret?: true;
}

const text = (value: string): string => value;

const integer =
  (least: number, most: number) =>
  (value: string): number => {
    const parsed = /^\d{1,9}$/.test(value) ? Number(value) : Number.NaN;
    if (!(parsed >= least && parsed <= most)) throw new Error(`must be a whole number from ${least} to ${most}`);
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

const baseUrl = (value: string): string => {
  const parsed = new URL(url('http:', 'https:')(value));
  if (parsed.search !== '' || parsed.hash !== '') throw new Error('must not have a query or a fragment');
  return value.replace(/\/+$/, '');
};

/** Any 16-255 printable ASCII characters without blanks at the ends: what a header can carry and a person will not guess. */
const bootstrapKey = (value: string): string => {
  if (value.length < 16) throw new Error(`is ${value.length} characters long; the least is 16`);
  if (value.length > 255) throw new Error(`is ${value.length} characters long; the most is 255`);
  if (!/^[\x21-\x7e]+$/.test(value)) throw new Error('may hold printable ASCII characters only, and no blanks');
  return value;
};

const accountId = (value: string): string => {
  if (!isId(value, 'ac')) throw new Error('must be the id of an account');
  return value;
};

const SETTINGS = {
  // Loopback only by default: a fresh start must not open a door to the network.
  host: { name: 'HOST', example: '0.0.0.0', fallback: '127.0.0.1', parse: text },
  // 0 lets the system choose a free port.
  port: { name: 'PORT', example: '8080', fallback: 8080, parse: integer(0, 65_535) },
  publicUrl: { name: 'PUBLIC_URL', example: 'https://api.example.com', fallback: undefined, parse: baseUrl },
  databaseUrl: {
    name: 'DATABASE_URL',
    example: 'postgres://user:password@db.example.com:5432/tunnel_access',
    fallback: undefined,
    parse: url('postgres:', 'postgresql:'),
    isSecret: true,
  },
  dataDir: { name: 'DATA_DIR', example: './data', fallback: resolve('data'), parse: (value: string) => resolve(value) },
  databasePoolSize: { name: 'DATABASE_POOL_SIZE', example: '10', fallback: 10, parse: integer(2, 1000) },
  appendQueueLimit: {
    name: 'APPEND_QUEUE_LIMIT',
    example: '10000',
    fallback: 10_000,
    parse: integer(1, 1_000_000),
  },
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
  // Nobody by default: a header anyone can send must not decide who is calling.
  trustedProxies: { name: 'TRUST_PROXY', example: '10.0.0.0/8, 192.0.2.7', fallback: [], parse: parseTrustedProxies },
  // None by default: a page has no business here unless the operator says so.
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
  // Read once, at start: a list that vanished later must not silently admit what it denied.
  deniedFingerprints: {
    name: 'DENIED_KEYS_FILE',
    example: '/etc/tunnel-access/denied-keys',
    fallback: new Set(),
    parse: (path: string) => parseDeniedFingerprints(readFileSync(path, 'utf8')),
  },
  // None by default: nobody may ask across accounts unless the operator says who.
  gatewayTokens: {
    name: 'GATEWAY_TOKENS',
    example: 'the output of: openssl rand -hex 24',
    fallback: [],
    parse: parseGatewayTokens,
    isSecret: true,
  },
  // Not below what one question may ask, or that question could never be answered.
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
  const shown = setting.isSecret === true ? '' : ` '${value}'`;
  const reason = error instanceof Error ? error.message : String(error);
  return `${setting.name}${shown} ${reason}; for example: ${setting.example}`;
}

/** Reads every setting and reports all that is wrong at once; an empty variable counts as absent. */
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

/** Settings that are right alone and wrong together. Without an audience, a token that the issuer made for any other program of the company would open this one. */
function contradictionsIn({ oidcIssuer, oidcAudience, bootstrapApiKey, gatewayTokens }: Config): string[] {
  // Each opens what the other must not.
  if (bootstrapApiKey !== undefined && gatewayTokens.includes(bootstrapApiKey)) {
    return ['BOOTSTRAP_API_KEY is one of GATEWAY_TOKENS; make another'];
  }
  if (oidcIssuer !== undefined && oidcAudience === undefined) return ['OIDC_ISSUER is set without OIDC_AUDIENCE'];
  if (oidcIssuer === undefined && oidcAudience !== undefined) return ['OIDC_AUDIENCE is set without OIDC_ISSUER'];
  return [];
}
