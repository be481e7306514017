import { Logger } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { Problem } from '../../problem.js';
import { discoveryUrl, isSafeToTrust } from './issuer-url.js';
import { refusalOf } from './token-refusal.js';

/** Signatures made with a private key. Never HS*: its key would be the issuer's public one; never `none`. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** By how much the issuer's clock and ours may differ. */
const CLOCK_TOLERANCE_SECONDS = 30;
const FETCH_TIMEOUT_MS = 3_000;
/** After a failed fetch nothing is fetched for this long: a stranger's tokens must not make us besiege an issuer in trouble. */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/** An unknown key id makes us fetch the keys again, which is how rotation is noticed; not more often than this. */
export const KEYS_COOLDOWN_MS = 30_000;
/** Keys that the issuer withdrew are trusted for at most this long. */
export const KEYS_MAX_AGE_MS = 600_000;

class IssuerUnreachable extends Error {}

/**
 * The OpenID Connect issuer whose tokens are taken. It is asked for nothing before the first token arrives, so that the
 * service starts without it, and trusted fully: whoever controls it or its name can sign in as any user.
 */
export class OidcIssuer {
  private readonly logger = new Logger('OpenIdConnect');
  private keys: Promise<JWTVerifyGetKey> | undefined;
  private failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly settings: { readonly issuer: string; readonly audience: string }) {}

  /** The claims of a token that holds. Throws Problem: 401 when it does not, 503 when the issuer cannot be asked for its keys. */
  async claimsOf(token: string): Promise<JWTPayload> {
    try {
      const { payload } = await jwtVerify(token, this.keyOf, {
        ...this.settings,
        algorithms: ALGORITHMS,
        clockTolerance: CLOCK_TOLERANCE_SECONDS,
        requiredClaims: ['exp'],
      });
      return payload;
    } catch (error) {
      throw error instanceof IssuerUnreachable ? unreachable() : refusalOf(error);
    }
  }

  private readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    this.keys ??= this.discover();
    const keys = await this.keys;
    return keys(header, token);
  };

  /** Asks the issuer where its keys are, once; a failure is forgotten, so that the next token asks again. */
  private async discover(): Promise<JWTVerifyGetKey> {
    try {
      const keysUrl = await this.fetchKeysUrl();
      return createRemoteJWKSet(keysUrl, {
        cooldownDuration: KEYS_COOLDOWN_MS,
        cacheMaxAge: KEYS_MAX_AGE_MS,
        [customFetch]: async (url) => Response.json(await this.fetchJson(url, isKeySet)),
      });
    } catch (error) {
      this.keys = undefined;
      throw error;
    }
  }

  private async fetchKeysUrl(): Promise<URL> {
    const { issuer } = this.settings;
    const document = await this.fetchJson(discoveryUrl(issuer).href, isDiscovery);
    if (document.issuer !== issuer) throw this.failed(`it names itself '${document.issuer}', not '${issuer}'`);
    const url = new URL(document.jwks_uri);
    if (!isSafeToTrust(url)) throw this.failed(`its jwks_uri '${url.href}' does not start with https://`);
    return url;
  }

  /** Every word with the issuer: bounded in time, one log line for each failure, and a pause after it. */
  private async fetchJson<T>(url: string, isExpected: (value: unknown) => value is T): Promise<T> {
    if (performance.now() < this.failedAtMs + PAUSE_AFTER_FAILURE_MS) throw new IssuerUnreachable();
    try {
      // A redirect could lead from https to anywhere.
      const response = await fetch(url, { redirect: 'manual', signal: AbortSignal.timeout(FETCH_TIMEOUT_MS) });
      if (response.status !== 200) throw new Error(`it answers ${response.status}`);
      const value: unknown = await response.json();
      if (!isExpected(value)) throw new Error('it answers something else than what was asked for');
      return value;
    } catch (error) {
      throw this.failed(`${url}: ${explain(error)}`);
    }
  }

  private failed(reason: string): IssuerUnreachable {
    this.failedAtMs = performance.now();
    this.logger.warn(`the issuer of OIDC_ISSUER cannot be used; its tokens answer 503: ${reason}`);
    return new IssuerUnreachable(reason);
  }
}

interface Discovery {
  readonly issuer: string;
  readonly jwks_uri: string;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

const isDiscovery = (value: unknown): value is Discovery =>
  isObject(value) &&
  typeof value.issuer === 'string' &&
  typeof value.jwks_uri === 'string' &&
  URL.canParse(value.jwks_uri);

const isKeySet = (value: unknown): value is { keys: object[] } =>
  isObject(value) && Array.isArray(value.keys) && value.keys.every(isObject);

/** What `fetch` says is "fetch failed"; why stands in its cause. */
function explain(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message;
}

const unreachable = (): Problem =>
  new Problem(
    'overloaded',
    'The issuer of this token cannot be reached, so the token cannot be checked. Try again shortly; API keys work meanwhile.',
  );
