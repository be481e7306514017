import { Logger } from '@nestjs/common';
import { createRemoteJWKSet, customFetch, type JWTPayload, type JWTVerifyGetKey, jwtVerify } from 'jose';
import { messageOf } from '../../../kernel/error-message.js';
import { isJsonObject } from '../../../kernel/json-object.js';
import { HttpClient } from '../../../kernel/network/http-client.js';
import { Problem } from '../../../kernel/problem.js';
import { discoveryUrl, isSafeToTrust } from './issuer-url.js';
import { refusalOf } from './token-refusal.js';

/** Algorithms that sign with a private key. Never `none` and never HS*, whose key would be the issuer's public key. */
const ALGORITHMS = [
  ...['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512'],
  ...['ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519'],
];

/** Maximum difference between the issuer's clock and ours. */
const CLOCK_TOLERANCE_SECONDS = 30;
const FETCH_TIMEOUT_MS = 3_000;
/** Pause after a failed fetch: an attacker's tokens must not make us flood an issuer in trouble with requests. */
const PAUSE_AFTER_FAILURE_MS = 1_000;
/**
 * Minimum interval between two fetches of the keys. An unknown key id causes a fetch: that is how we notice a rotation.
 */
const KEYS_COOLDOWN_MS = 30_000;
/** Maximum time that we trust a key which the issuer has withdrawn. */
const KEYS_MAX_AGE_MS = 600_000;

/** The issuer does not answer, or its answer cannot be used. */
class IssuerUnavailableError extends Error {}

/**
 * The OpenID Connect issuer whose tokens the service accepts. The first token causes the first request to it, so that
 * the service starts without it. It is fully trusted: an attacker who controls it or its name can sign in as any user.
 */
export class OidcIssuer {
  private readonly logger = new Logger('OpenIdConnect');
  private readonly http = new HttpClient();
  private keys: Promise<JWTVerifyGetKey> | undefined;
  private failedAtMs = Number.NEGATIVE_INFINITY;

  constructor(private readonly settings: { readonly issuer: string; readonly audience: string }) {}

  /**
   * The claims of a valid token. Throws Problem: 401 for an invalid token, 503 if the issuer does not give us its keys.
   */
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
      throw error instanceof IssuerUnavailableError ? issuerUnavailable() : refusalOf(error);
    }
  }

  private readonly keyOf: JWTVerifyGetKey = async (header, token) => {
    this.keys ??= this.discover();
    const keys = await this.keys;
    return keys(header, token);
  };

  /** Fetches the URL of the issuer's keys once. After a failure the next token causes another attempt. */
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

  /** Every request to the issuer goes through here: it has a timeout, and a failure is logged and causes a pause. */
  private async fetchJson<T>(url: string, isExpected: (value: unknown) => value is T): Promise<T> {
    if (performance.now() < this.failedAtMs + PAUSE_AFTER_FAILURE_MS) throw new IssuerUnavailableError();
    try {
      const value = await this.http.getJson(new URL(url), FETCH_TIMEOUT_MS);
      if (!isExpected(value)) throw new Error('its answer does not have the expected form');
      return value;
    } catch (error) {
      throw this.failed(`${url}: ${messageOf(error)}`);
    }
  }

  private failed(reason: string): IssuerUnavailableError {
    this.failedAtMs = performance.now();
    this.logger.warn(`the issuer of OIDC_ISSUER cannot be used; its tokens answer 503: ${reason}`);
    return new IssuerUnavailableError(reason);
  }
}

interface Discovery {
  readonly issuer: string;
  readonly jwks_uri: string;
}

const isDiscovery = (value: unknown): value is Discovery =>
  isJsonObject(value) &&
  typeof value.issuer === 'string' &&
  typeof value.jwks_uri === 'string' &&
  URL.canParse(value.jwks_uri);

const isKeySet = (value: unknown): value is { keys: object[] } =>
  isJsonObject(value) && Array.isArray(value.keys) && value.keys.every(isJsonObject);

const issuerUnavailable = (): Problem =>
  new Problem(
    'overloaded',
    'The issuer of this token cannot be reached, so the token cannot be checked. Try again shortly; API keys still work.',
  );
