import { integer } from './parsers.js';
import type { Setting } from './setting.js';

const MAX_MS = 86_400_000;

/** The service and its gateways have this setting in common. */
export const OUTAGE_GRACE: Setting<number> = {
  name: 'GATEWAY_OUTAGE_GRACE_MS',
  about:
    'Time for which open tunnels stay while the service cannot be reached. After its start the service waits as long for its gateways.',
  example: '300000',
  fallback: 300_000,
  parse: integer(0, MAX_MS),
};
