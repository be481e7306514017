import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import {
  type CryptoKey,
  exportJWK,
  exportSPKI,
  generateKeyPair,
  importSPKI,
  type JWK,
  type JWTPayload,
  SignJWT,
} from 'jose';
import { stopAtEnd } from './leftovers.js';

export interface SigningKey {
  readonly kid: string;
  readonly alg: string;
  readonly privateKey: CryptoKey;
  readonly publicJwk: JWK;
}

export async function newSigningKey(kid: string, alg = 'ES256'): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true });
  // The key is exported and read again before its export as JWK, for the reason in keys.ts.
  const read = await importSPKI(await exportSPKI(publicKey), alg, { extractable: true });
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(read)), kid, alg, use: 'sig' } };
}

/** An OpenID Connect issuer on a free port of the loopback, with the parts that a verifier of its tokens needs. */
export class TestIssuer {
  url = '';
  /** The issuer that the discovery document names, if it is not the real one. */
  claimedIssuer: string | undefined;
  /** While false, every answer is 500. */
  isUp = true;
  /** While true, it accepts connections and does not answer. */
  isSilent = false;
  /** Number of requests, by path. */
  readonly requestCounts = new Map<string, number>();
  private published: readonly SigningKey[] = [];
  private signer: SigningKey | undefined;
  private readonly server = createServer((request, response) => {
    const path = request.url ?? '';
    this.requestCounts.set(path, (this.requestCounts.get(path) ?? 0) + 1);
    if (this.isSilent) return;
    const body = this.isUp ? this.documents()[path] : undefined;
    response.writeHead(body === undefined ? 500 : 200, { 'content-type': 'application/json' });
    response.end(JSON.stringify(body ?? {}));
  });

  static async start(...keys: SigningKey[]): Promise<TestIssuer> {
    const issuer = new TestIssuer();
    await new Promise<void>((resolve) => issuer.server.listen(0, '127.0.0.1', resolve));
    issuer.url = `http://127.0.0.1:${(issuer.server.address() as AddressInfo).port}`;
    issuer.stop = stopAtEnd(issuer.stop);
    issuer.publish(...keys);
    return issuer;
  }

  stop = async (): Promise<void> => {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  };

  /** Publishes only these keys from now on; the first one signs. */
  publish(...keys: SigningKey[]): void {
    this.published = keys;
    this.signer = keys[0];
  }

  /** A token that the service accepts, unless `claims` (undefined omits a claim) or `key` make it invalid. */
  async sign(claims: JWTPayload = {}, key: SigningKey | undefined = this.signer): Promise<string> {
    if (key === undefined) throw new Error('the issuer has no key');
    const now = Math.floor(Date.now() / 1000);
    const all = { iss: this.url, aud: AUDIENCE, sub: 'subject-1', iat: now, exp: now + 300, ...claims };
    return new SignJWT(JSON.parse(JSON.stringify(all)))
      .setProtectedHeader({ alg: key.alg, kid: key.kid, typ: 'JWT' })
      .sign(key.privateKey);
  }

  private documents(): Record<string, object> {
    return {
      '/.well-known/openid-configuration': { issuer: this.claimedIssuer ?? this.url, jwks_uri: `${this.url}/keys` },
      '/keys': { keys: this.published.map((key) => key.publicJwk) },
    };
  }
}

export const AUDIENCE = 'tunnel-access';
