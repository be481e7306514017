import { flag, integer, text } from '../../kernel/settings/parsers.js';
import type { SettingsOf } from '../../kernel/settings/setting.js';
import { parseIssuer } from '../access/authentication/issuer-url.js';
import type { OidcSettings } from '../access/authentication/oidc.js';
import type { RequestLimitSettings } from '../access/authentication/request-limits.js';
import { parseOrigins } from '../http/cors.js';
import type { HttpOptions } from '../http/http-options.js';
import { parseTrustedProxies } from '../http/trusted-proxies.js';
import { accountId, bootstrapKey, bootstrapKeyFile } from './parsers.js';

/** Who may call, from where, and how often. */
export interface AccessSettings
  extends OidcSettings,
    RequestLimitSettings,
    Pick<HttpOptions, 'trustedProxies' | 'corsOrigins'> {
  /** API key of the first admin, for the first start. */
  readonly bootstrapApiKey: string | undefined;
  /** The same, as a file held it. */
  readonly bootstrapApiKeyFile: string | undefined;
  /** Failed authentications of one source that answer 401 in a minute; further ones answer 429. 0: no limit. */
  readonly authFailuresPerMinute: number;
}

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
  oidcIssuer: {
    name: 'OIDC_ISSUER',
    about:
      'OpenID Connect issuer whose tokens are accepted, exactly as they name it (`iss`): `https`, or `http` on loopback. See [oidc.md](oidc.md).',
    example: 'https://login.example.com',
    fallback: undefined,
    parse: parseIssuer,
  },
  oidcAudience: {
    name: 'OIDC_AUDIENCE',
    about: 'Audience that the tokens must name (`aud`). Set it together with `OIDC_ISSUER`.',
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
    about:
      'Claim that says who is an admin or auditor: a text or a list of texts. Without it the role that is stored here counts.',
    example: 'groups',
    fallback: undefined,
    parse: text,
  },
  oidcAdminValue: {
    name: 'OIDC_ADMIN_VALUE',
    about: 'Text in that claim that makes the user an admin.',
    example: 'admin',
    fallback: 'admin',
    parse: text,
  },
  // None by default: a claim that holds this text by chance would open the log.
  oidcAuditorValue: {
    name: 'OIDC_AUDITOR_VALUE',
    about: 'Text in that claim that makes the user an auditor. Without it the issuer names no auditors.',
    example: 'auditor',
    fallback: undefined,
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
    about: '`true`: if no user has the email address of a token, the service creates a member.',
    example: 'true',
    fallback: false,
    parse: flag,
  },
} satisfies SettingsOf<AccessSettings>;
