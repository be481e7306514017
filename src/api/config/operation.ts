import { parseCheckpointKeys } from '../../event-log/index.js';
import { LOG_LEVELS } from '../../kernel/settings/log-levels.js';
import { integer, oneOf } from '../../kernel/settings/parsers.js';
import type { SettingsTable } from '../../kernel/settings/setting.js';
import { LOGGED_REQUESTS } from '../http/logging/logged-requests.js';
import { METRICS } from '../metrics/metrics-settings.js';

/** What the operator sees of the service, and how it stops. */
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
  ...METRICS,
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
  shutdownDelaySeconds: {
    name: 'SHUTDOWN_DELAY_SECONDS',
    about:
      'After SIGTERM the instance serves for this long while `/readyz` is 503, and then stops. See [Kubernetes](operating.md#kubernetes).',
    example: '10',
    fallback: 0,
    parse: integer(0, 600),
  },
  shutdownGraceMs: {
    name: 'SHUTDOWN_GRACE_MS',
    about: 'Maximum time that a stop waits for running requests.',
    example: '10000',
    fallback: 10_000,
    parse: integer(0, 600_000),
  },
} as const satisfies SettingsTable;
