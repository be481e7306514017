import { GATEWAY, type GatewaySettings } from '../../gateway/index.js';
import { editDistance } from '../../kernel/edit-distance.js';
import { messageOf } from '../../kernel/error-message.js';
import { UsageError } from '../../kernel/operator-error.js';
import type { Setting, SettingsOf, ValuesOf } from '../../kernel/settings/setting.js';
import { quotable } from '../service-log/redaction.js';
import { ACCESS } from './access.js';
import { DATABASE } from './database.js';
import { KEYS_AND_GATEWAYS } from './keys-and-gateways.js';
import { LISTENING } from './listening.js';
import { OPERATION } from './operation.js';
import { RESERVATIONS } from './reservations.js';

/**
 * The operator's settings, validated once at start and frozen. Only this file reads settings from the environment. A room
 * that needs settings declares them itself.
 */
export interface Config extends Settings {
  /** Whether a start may make an embedded database: in production DATA_DIR must say where. */
  readonly mayMakeDatabase: boolean;
}

/** The settings are invalid; main prints the problems and exits with 2. */
export class ConfigError extends UsageError {
  constructor(readonly problems: readonly string[]) {
    super(problems.join('\n'));
    this.name = 'ConfigError';
  }
}

/** In the order of docs/settings.md. */
const SETTINGS = {
  ...LISTENING,
  ...DATABASE,
  ...ACCESS,
  ...KEYS_AND_GATEWAYS,
  ...RESERVATIONS,
  ...OPERATION,
};

type Settings = ValuesOf<typeof SETTINGS>;

function explain(setting: Setting<unknown>, value: string, error: unknown): string {
  const quotedValue = setting.isSecret === true ? '' : ` '${quotable(value)}'`;
  return `${setting.name}${quotedValue} ${messageOf(error)}; for example: ${setting.example}`;
}

/** The table of docs/settings.md: a row of Markdown for each setting. */
export const settingsTable = (): string => tableOf(SETTINGS);

/** The same for the settings of `tunnel-access gateway`, in docs/own-gateway.md. */
export const gatewaySettingsTable = (): string => tableOf(GATEWAY);

const tableOf = (settings: object): string =>
  ['| variable | default | |', '|---|---|---|', ...Object.values(settings).map(rowOf)].join('\n');

const rowOf = ({ name, about, fallback, fallbackText }: Setting<unknown>): string =>
  `| \`${name}\` | ${fallbackText ?? defaultOf(fallback)} | ${about} |`;

const defaultOf = (fallback: unknown): string =>
  fallback === undefined || fallback instanceof Object ? 'none' : `\`${fallback}\``;

/** The key of the first admin that the operator chose, whichever setting has it. */
export const bootstrapKeyOf = (config: Pick<Config, 'bootstrapApiKey' | 'bootstrapApiKeyFile'>): string | undefined =>
  config.bootstrapApiKey ?? config.bootstrapApiKeyFile;

const KNOWN = new Set([SETTINGS, GATEWAY].flatMap((settings) => Object.values(settings).map(({ name }) => name)));
/** A shorter name is near to other variables: `HOME` is not `HOST`, and `PGPORT` is not `PORT`. */
const MIN_LENGTH_FOR_TWO = 6;

function isNear(name: string, known: string): boolean {
  const max = known.length < MIN_LENGTH_FOR_TWO ? 1 : 2;
  return Math.abs(known.length - name.length) <= max && editDistance(name, known) <= max;
}

/** A sentence for each variable that is not a setting and has a name within two letters of one. */
export function misspelledIn(environment: NodeJS.ProcessEnv): readonly string[] {
  const others = Object.keys(environment).filter((name) => !KNOWN.has(name));
  return others.flatMap((name) => {
    const near = [...KNOWN].find((known) => isNear(name, known));
    return near === undefined ? [] : [`the variable ${name} is not a setting: is ${near} meant?`];
  });
}

/** Whether the service knows a setting of this name. */
export const isSetting = (name: string): boolean => KNOWN.has(name);

/** Reads all settings and reports all problems at once. An empty variable counts as absent. */
export function readConfig(environment: NodeJS.ProcessEnv): Config {
  const isSet = (key: keyof typeof SETTINGS): boolean => !['', undefined].includes(environment[SETTINGS[key].name]);
  const given = readSettings<Settings>(SETTINGS, environment, (all) => [
    ...retiredIn(environment),
    ...contradictionsIn(all),
  ]);
  return Object.freeze({ ...given, mayMakeDatabase: !given.isProduction || isSet('dataDir') });
}

/** The settings of a gateway, which need no database and no key. */
export const readGatewayConfig = (environment: NodeJS.ProcessEnv): GatewaySettings =>
  readSettings<GatewaySettings>(GATEWAY, environment, () => []);

function readSettings<Values extends object>(
  settings: SettingsOf<Values>,
  environment: NodeJS.ProcessEnv,
  contradictions: (values: Values) => readonly string[],
): Values {
  const problems: string[] = [];
  const entries = Object.entries<Setting<unknown>>(settings).map(([key, setting]) => {
    const value = environment[setting.name];
    if (value === undefined || value === '') return [key, setting.fallback];
    try {
      return [key, setting.parse(value)];
    } catch (error) {
      problems.push(explain(setting, value, error));
      return [key, setting.fallback];
    }
  });
  const values = Object.fromEntries(entries) as Values;
  if (problems.length === 0) problems.push(...contradictions(values));
  if (problems.length > 0) throw new ConfigError(problems);
  return Object.freeze(values);
}

/** Renamed settings, under their old names. */
const RENAMED = {
  DEAR_READ_CONNECTIONS: DATABASE.auditReadConnections.name,
  DEAR_READ_TIMEOUT_MS: DATABASE.auditReadTimeoutMs.name,
};

/** A problem for each setting of earlier versions that would be ignored silently. It says the way out. */
function retiredIn(environment: NodeJS.ProcessEnv): string[] {
  const { WORKERS = '1', REPLICA_DATABASE_URL = '' } = environment;
  const workers =
    'WORKERS is no longer a setting: one start is one process. Start several instances behind a proxy (docs/operating.md)';
  const replica =
    'REPLICA_DATABASE_URL is no longer a setting: the primary answers every read. Take it out; standbys are for failover (docs/failover.md)';
  return [
    ...(['', '1'].includes(WORKERS) ? [] : [workers]),
    ...(REPLICA_DATABASE_URL === '' ? [] : [replica]),
    ...Object.entries(RENAMED).flatMap(([before, now]) =>
      ['', undefined].includes(environment[before]) ? [] : [`${before} is no longer a setting: its name is ${now}`],
    ),
  ];
}

/**
 * Problems of settings that are each valid but contradict each other. An issuer needs an audience: without one, a token
 * that the issuer made for another program would give access here.
 */
function contradictionsIn(all: Settings): string[] {
  const { oidcIssuer, oidcAudience, metricsAddress, port, ...config } = all;
  const { bootstrapApiKey, bootstrapApiKeyFile, metricsToken } = config;
  const gatewayTokens = config.gatewayTokens.map(({ token }) => token);
  if (config.migrationDatabaseUrl !== undefined && config.databaseUrl === undefined) {
    return ['MIGRATION_DATABASE_URL is set without DATABASE_URL'];
  }
  const { tunnelDomain, publicUrl } = config;
  // A page of a tunnel could set cookies for the service.
  if (publicUrl !== undefined && tunnelDomain?.overlaps(new URL(publicUrl).hostname) === true)
    return ['TUNNEL_DOMAIN is the host of PUBLIC_URL, or above or below it; take a domain of its own'];
  if (metricsAddress?.port === port) return ['METRICS_LISTEN has the port of the service (PORT); choose another'];
  if (bootstrapApiKey !== undefined && bootstrapApiKeyFile !== undefined) {
    return ['BOOTSTRAP_API_KEY and BOOTSTRAP_API_KEY_FILE are both set; set one of them'];
  }
  // An API key, a gateway token and the metrics token must not give access to each other's routes.
  const bootstrapKey = bootstrapKeyOf(config);
  const nameOfKey = bootstrapApiKeyFile === undefined ? 'BOOTSTRAP_API_KEY' : 'the key in BOOTSTRAP_API_KEY_FILE';
  if (gatewayTokens.includes(bootstrapKey ?? ''))
    return [`GATEWAY_TOKENS holds ${nameOfKey} as well; make another token`];
  if (metricsToken !== undefined && [...gatewayTokens, bootstrapKey].includes(metricsToken)) {
    return [`METRICS_TOKEN is also ${nameOfKey} or one of GATEWAY_TOKENS; make another`];
  }
  if (oidcIssuer !== undefined && oidcAudience === undefined) return ['OIDC_ISSUER is set without OIDC_AUDIENCE'];
  if (oidcIssuer === undefined && oidcAudience !== undefined) return ['OIDC_AUDIENCE is set without OIDC_ISSUER'];
  return [];
}
