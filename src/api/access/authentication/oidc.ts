import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { decodeProtectedHeader, type JWTPayload } from 'jose';
import type { Pool } from 'pg';
import type { EventMetadata } from '../../../event-log/index.js';
import type { Caller, Role } from '../../../kernel/caller.js';
import { Problem } from '../../../kernel/problem.js';
import { originOf } from '../../http/request-context.js';
import type { Changes } from '../../resources/changes.js';
import { OidcIssuer } from './oidc-issuer.js';
import type { OidcSettings } from './oidc-settings.js';
import { type OidcLogin, OidcUsers } from './oidc-users.js';

/** Undefined if no issuer is configured. */
export function oidcOf(settings: OidcSettings, pool: Pool, changes: Changes): Oidc | undefined {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcAccount } = settings;
  if (issuer === undefined || audience === undefined) return undefined;
  return new Oidc(settings, new OidcIssuer({ issuer, audience }), new OidcUsers(pool, changes, oidcAccount));
}

/**
 * Whether this has the form of a signed JWT. Decodes its header, since a bootstrap API key may contain dots as well.
 */
export function isJwt(token: string): boolean {
  if (!/^[\w-]+\.[\w-]*\.[\w-]*$/.test(token)) return false;
  try {
    return typeof decodeProtectedHeader(token).alg === 'string';
  } catch {
    return false;
  }
}

/** Authenticates callers by a token of the OpenID Connect issuer. */
export class Oidc {
  constructor(
    private readonly settings: OidcSettings,
    private readonly issuer: OidcIssuer,
    private readonly users: OidcUsers,
  ) {}

  /** Throws Problem: 401 for an invalid token or an unknown user, 403 for an inactive user, 503 without the issuer. */
  async authenticate(token: string, request: FastifyRequest, mayCreate: boolean): Promise<Caller> {
    const claims = await this.issuer.claimsOf(token);
    const tokenId = tokenIdOf(token, claims);
    const email = emailOf(claims, this.settings.oidcEmailClaim);
    const metadata = () => ({ actor: 'oidc', token_id: tokenId, ...originOf(request) });
    const { accountId, rightsPosition, user } = await this.loginOf(email, mayCreate, metadata);
    if (user === undefined)
      throw new Problem('api_key_unknown', 'The token is valid, but no user has its email address.');
    if (!user.isActive) throw new Problem('caller_inactive', 'The user of this token is not active.');
    const role = roleOf(claims, user.role, this.settings);
    return { accountId, principalId: user.id, kind: 'user', role, tokenId, rightsPosition };
  }

  private async loginOf(email: string, mayCreate: boolean, metadata: () => EventMetadata): Promise<OidcLogin> {
    const login = await this.users.find(email);
    if (login.user !== undefined || !mayCreate || !this.settings.oidcCreateUsers) return login;
    return this.users.create(login.accountId, email, metadata());
  }
}

/**
 * Printable ASCII only. Users are compared in lower case, and some other letters become ASCII in lower case (the Kelvin
 * sign becomes k): with one of them, an address at the issuer could pass for the address of another user here.
 */
const EMAIL = /^[\x21-\x3f\x41-\x7e]{1,64}@[\x21-\x3f\x41-\x7e]{1,189}$/;

function emailOf(claims: JWTPayload, claim: string): string {
  const email = claims[claim];
  if (typeof email !== 'string' || !EMAIL.test(email)) {
    throw new Problem('api_key_unknown', `The claim '${claim}' of the token holds no usable email address.`);
  }
  // Until an address is verified, a user may claim any address. Some issuers send the boolean as text.
  if (claims.email_verified === false || claims.email_verified === 'false') {
    throw new Problem('api_key_unknown', 'The email address of the token is not verified (email_verified).');
  }
  return email;
}

/**
 * The role by the token, if a claim for it is configured. It overrides the stored role for this request: an operator
 * who lets the issuer name the admins expects that a withdrawal at the issuer suffices. A stored auditor stays one if
 * the issuer names no auditors: the claim could only give it the right to change.
 */
function roleOf(claims: JWTPayload, stored: Role, settings: OidcSettings): Role {
  const { oidcRoleClaim, oidcAdminValue, oidcAuditorValue } = settings;
  if (oidcRoleClaim === undefined) return stored;
  const held = claims[oidcRoleClaim];
  const values: readonly unknown[] = Array.isArray(held) ? held : [held];
  if (values.includes(oidcAdminValue)) return 'admin';
  const isAuditor = oidcAuditorValue === undefined ? stored === 'auditor' : values.includes(oidcAuditorValue);
  return isAuditor ? 'auditor' : 'member';
}

/** The token's `jti` if it can be stored, else the token's hash. Both identify the token; neither is a secret. */
function tokenIdOf(token: string, { jti }: JWTPayload): string {
  if (typeof jti === 'string' && /^[\x21-\x7e]{1,255}$/.test(jti)) return jti;
  return `sha256:${createHash('sha256').update(token, 'utf8').digest('hex')}`;
}
