import { type KeyHistory, parseCheckpointKeys } from '../../event-log/index.js';
import { LOG_LEVELS, type LogLevel } from '../../kernel/settings/log-levels.js';
import { integer, oneOf } from '../../kernel/settings/parsers.js';
import type { SettingsOf } from '../../kernel/settings/setting.js';
import { parseToken } from '../../kernel/settings/token.js';
import { LOGGED_REQUESTS, type LoggedRequests } from '../http/logging/logged-requests.js';
import { type MetricsSettings, parseMetricsAddress } from '../metrics/metrics-settings.js';

/** What the operator sees of the service, and how it stops. */
export interface OperationSettings extends MetricsSettings {
  /** The keys that sign the checkpoints of the logs; undefined: the key beside an embedded database, or none. */
  readonly checkpointKeys: KeyHistory | 'off' | undefined;
  readonly isProduction: boolean;
  readonly logLevel: LogLevel;
  readonly logRequests: LoggedRequests;
  /** Maximum time that a stop waits for running requests. */
  readonly shutdownGraceMs: number;
}

export const OPERATION = {
  checkpointKeys: {
    name: 'CHECKPOINT_KEY',
    about:
      'Key that signs the checkpoints of the logs, or its file; `audit key NAME` makes one. `off`: the logs are not signed. See [evidence.md](evidence.md#the-key).',
    fallbackText:
      '`checkpoint-key` in `DATA_DIR`, made at the first start; with `DATABASE_URL` none: checkpoints are off',
    example: '/run/secrets/checkpoint-key',
    fallback: undefined,
    parse: (value: string) => (value === 'off' ? value : parseCheckpointKeys(value)),
    isSecret: true,
  },
  // Closed by default: the metrics tell how much the deployment is used, and by which routes.
  metricsToken: {
    name: 'METRICS_TOKEN',
    about:
      'Token that opens `GET /metrics` to Prometheus, in the form of a gateway token. Without it the route does not exist. See [monitoring.md](monitoring.md).',
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
  isProduction: {
    name: 'NODE_ENV',
    about:
      '`production`: a start without `DATABASE_URL` makes an embedded database only if `DATA_DIR` is set. The Dockerfile and the systemd units set it.',
    example: 'production',
    fallback: false,
    fallbackText: 'none',
    parse: (value: string) => value === 'production',
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
} satisfies SettingsOf<OperationSettings>;
