import { listenAddress } from '../../kernel/settings/listen-address.js';
import type { SettingsTable, ValuesOf } from '../../kernel/settings/setting.js';
import { parseToken } from '../../kernel/settings/token.js';

export const METRICS = {
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
    parse: listenAddress(1),
  },
} as const satisfies SettingsTable;

export type MetricsSettings = ValuesOf<typeof METRICS>;
