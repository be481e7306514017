import { isId } from '../../../kernel/ids.js';
import { flag, text } from '../../../kernel/settings/parsers.js';
import type { SettingsTable, ValuesOf } from '../../../kernel/settings/setting.js';
import { parseIssuer } from './issuer-url.js';

const accountId = (value: string): string => {
  if (!isId(value, 'ac')) throw new Error('must be the id of an account');
  return value;
};

/** The settings of sign-in by OpenID Connect. */
export const OIDC = {
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
} as const satisfies SettingsTable;

export type OidcSettings = ValuesOf<typeof OIDC>;
