const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/**
 * Whether the URL has TLS or is on this machine: an attacker who can alter the issuer's answers can sign in as any
 * user.
 */
export const isSafeToTrust = (url: URL): boolean =>
  url.protocol === 'https:' || (url.protocol === 'http:' && LOOPBACK.test(url.hostname));

/** Parses OIDC_ISSUER, which must equal the `iss` of its tokens byte for byte: a trailing slash belongs to the name. */
export function parseIssuer(text: string): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !isSafeToTrust(url)) {
    throw new Error('must be a URL that starts with https://, or with http:// on a loopback address');
  }
  if (url.search !== '' || url.hash !== '' || url.username !== '' || url.password !== '') {
    throw new Error('must not have a user, a query or a fragment');
  }
  return text;
}

/** URL of the issuer's discovery document (OpenID Connect Discovery 1.0, section 4). */
export const discoveryUrl = (issuer: string): URL =>
  new URL(`${issuer.replace(/\/$/, '')}/.well-known/openid-configuration`);
