import { createHash } from 'node:crypto';
import type { FastifyRequest } from 'fastify';
import { decodeProtectedHeader, type JWTPayload } from 'jose';
import type { Pool } from 'pg';
import type { Caller, Role } from '../../caller.js';
import type { Config } from '../../config.js';
import { originOf } from '../../http/request-context.js';
import type { EventMetadata } from '../../log/event.js';
import { Problem } from '../../problem.js';
import type { Streams } from '../../resources/changes.js';
import { OidcIssuer } from './oidc-issuer.js';
import { type OidcLogin, OidcUsers } from './oidc-users.js';

type OidcSettings = Pick<Config, 'oidcEmailClaim' | 'oidcRoleClaim' | 'oidcAdminValue' | 'oidcCreateUsers'>;

/** What the settings make of it; undefined: only API keys are taken. */
export function oidcOf(config: Config, pool: Pool, streams: Streams): Oidc | undefined {
  const { oidcIssuer: issuer, oidcAudience: audience, oidcAccount } = config;
  if (issuer === undefined || audience === undefined) return undefined;
  return new Oidc(config, new OidcIssuer({ issuer, audience }), new OidcUsers(pool, streams, oidcAccount));
}

/** Whether this is a signed JWT in form; an API key of the operator's choice may hold dots as well, so its header is read. */
export function isJwt(token: string): boolean {
  if (!/^[\w-]+\.[\w-]*\.[\w-]*$/.test(token)) return false;
  try {
    return typeof decodeProtectedHeader(token).alg === 'string';
  } catch {
    return false;
  }
}

/** Tells who calls by a token of the OpenID Connect issuer. */
export class Oidc {
  constructor(
    private readonly settings: OidcSettings,
    private readonly issuer: OidcIssuer,
    private readonly users: OidcUsers,
  ) {}

  /** Throws Problem: 401 for a token that does not hold or names nobody, 403 for an inactive user, 503 without the issuer. */
  async authenticate(token: string, request: FastifyRequest, mayCreate: boolean): Promise<Caller> {
    const claims = await this.issuer.claimsOf(token);
    const tokenId = tokenIdOf(token, claims);
    const { accountId, user } = await this.entranceOf(emailOf(claims, this.settings.oidcEmailClaim), mayCreate, () => ({
      actor: 'oidc',
      token_id: tokenId,
      ...originOf(request),
    }));
    if (user === undefined) throw new Problem('api_key_unknown', 'The token is valid, but nobody here has its email.');
    if (!user.isActive) throw new Problem('caller_inactive', 'The user of this token is not active.');
    const role = roleOf(claims, this.settings) ?? user.role;
    return { accountId, principalId: user.id, kind: 'user', role, tokenId };
  }

  private async entranceOf(email: string, mayCreate: boolean, metadata: () => EventMetadata): Promise<OidcLogin> {
    const entrance = await this.users.find(email);
    if (entrance.user !== undefined || !mayCreate || !this.settings.oidcCreateUsers) return entrance;
    return this.users.create(entrance.accountId, email, metadata());
  }
}

/**
 * Printable ASCII only. Case is ignored when users are compared, and some letters outside ASCII become ASCII in lower case
 * (the Kelvin sign becomes k): somebody else's address at the issuer could become yours here.
 */
const EMAIL = /^[\x21-\x3f\x41-\x7e]{1,64}@[\x21-\x3f\x41-\x7e]{1,189}$/;

function emailOf(claims: JWTPayload, claim: string): string {
  const email = claims[claim];
  if (typeof email !== 'string' || !EMAIL.test(email)) {
    throw new Problem('api_key_unknown', `The token has no email address that can be taken in its claim '${claim}'.`);
  }
  // Anyone may claim anyone's address until it is verified. Some issuers send the text.
  if (claims.email_verified === false || claims.email_verified === 'false') {
    throw new Problem('api_key_unknown', 'The email address of the token is not verified (email_verified).');
  }
  return email;
}

/**
 * The role by the token, when a claim for it is configured. It then wins over the stored role for this request: whoever lets
 * the issuer say who is an admin expects that taking it away there is enough.
 */
function roleOf(claims: JWTPayload, { oidcRoleClaim, oidcAdminValue }: OidcSettings): Role | undefined {
  if (oidcRoleClaim === undefined) return undefined;
  const held = claims[oidcRoleClaim];
  const values: readonly unknown[] = Array.isArray(held) ? held : [held];
  return values.includes(oidcAdminValue) ? 'admin' : 'member';
}

/** The token's `jti` when it is fit to be stored, else its hash: either finds the issuer's record of it, neither is a secret. */
function tokenIdOf(token: string, { jti }: JWTPayload): string {
  if (typeof jti === 'string' && /^[\x21-\x7e]{1,255}$/.test(jti)) return jti;
  return `sha256:${createHash('sha256').update(token, 'utf8').digest('hex')}`;
}
