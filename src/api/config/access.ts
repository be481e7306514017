import { integer } from '../../kernel/settings/parsers.js';
import type { SettingsTable } from '../../kernel/settings/setting.js';
import { OIDC } from '../access/authentication/oidc-settings.js';
import { parseOrigins } from '../http/cors.js';
import { parseTrustedProxies } from '../http/trusted-proxies.js';
import { bootstrapKey, bootstrapKeyFile } from './parsers.js';

/** Who may call, from where, and how often. */
export const ACCESS = {
  bootstrapApiKey: {
    name: 'BOOTSTRAP_API_KEY',
    about:
      'API key of the first admin, 16-255 printable ASCII characters. It counts until the first account has had a key. See [The first key](operating.md#the-first-key).',
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
      'Failed authentications a minute from one address (or IPv6 /64) that get 401; further ones get 429. Valid keys still work. 0: no limit.',
    example: '100',
    fallback: 100,
    parse: integer(0, 1_000_000),
  },
  // Off by default: the public API has no limit of its own that clients expect.
  keyRequestsPerMinute: {
    name: 'KEY_REQUESTS_PER_MINUTE',
    about:
      'Maximum requests a minute with one API key, or of one user with a token. 0: no limit. See [Limits of requests](#limits-of-requests).',
    example: '600',
    fallback: 0,
    parse: integer(0, 100_000_000),
  },
  accountRequestsPerMinute: {
    name: 'ACCOUNT_REQUESTS_PER_MINUTE',
    about: 'Maximum requests a minute of one account. 0: no limit.',
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
      'Origins whose pages may call the service from a browser, comma-separated (`https://console.example.com`), or `*` for any. The service uses no cookies.',
    example: 'https://console.example.com',
    fallback: [],
    parse: parseOrigins,
  },
  ...OIDC,
} as const satisfies SettingsTable;
