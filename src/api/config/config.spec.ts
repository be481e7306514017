import { describe, expect, it } from '@jest/globals';
import { type ConfigError, readConfig } from './config.js';

function problemsOf(environment: Record<string, string>): readonly string[] {
  try {
    readConfig(environment);
  } catch (error) {
    return (error as ConfigError).problems;
  }
  throw new Error('readConfig found no problem');
}

describe('readConfig', () => {
  it('gives a service on loopback with an embedded database under ./data for an empty environment', () => {
    expect(readConfig({ PORT: '' })).toMatchObject({
      host: '127.0.0.1',
      port: 8080,
      dataDir: `${process.cwd()}/data`,
      databaseUrl: undefined,
      strict: false,
    });
  });

  it('reports every bad variable at once, each with the problem and an example', () => {
    const environment = {
      PORT: '99999',
      STRICT: 'maybe',
      LOG_LEVEL: 'loud',
      PUBLIC_URL: 'ftp://x',
      DATABASE_POOL_SIZE: '1',
    };
    expect(problemsOf(environment)).toEqual([
      "PORT '99999' must be a whole number from 0 to 65535; for example: 8080",
      "PUBLIC_URL 'ftp://x' must be a URL that starts with http:// or https://; for example: https://api.example.com",
      "DATABASE_POOL_SIZE '1' must be a whole number from 2 to 1000; for example: 10",
      "STRICT 'maybe' must be true or false; for example: true",
      "LOG_LEVEL 'loud' must be one of error, warn, info, debug; for example: info",
    ]);
  });

  it.each([
    ['fifteen chars..', 'is 15 characters long; the minimum is 16'],
    ['x'.repeat(256), 'is 256 characters long; the maximum is 255'],
    ['with a blank in it', 'must hold printable ASCII characters only'],
    ['ünprintable-enough', 'must hold printable ASCII characters only'],
  ])('refuses BOOTSTRAP_API_KEY %p without echoing it', (key, problem) => {
    const [text = ''] = problemsOf({ BOOTSTRAP_API_KEY: key });
    expect(text).toContain(problem);
    expect(text).not.toContain(key);
  });

  it('does not echo a DATABASE_URL, which may hold a password', () => {
    expect(problemsOf({ DATABASE_URL: 'mysql://u:secret@db/x' })).toEqual([
      'DATABASE_URL must be a URL that starts with postgres:// or postgresql://; for example: postgres://user:password@db.example.com:5432/tunnel_access',
    ]);
  });

  it.each([
    [
      'OIDC_ISSUER',
      'http://login.example.com',
      'must be a URL that starts with https://, or with http:// on a loopback',
    ],
    ['OIDC_ISSUER', 'https://user:secret@login.example.com', 'must not have a user, a query or a fragment'],
    ['OIDC_ISSUER', 'https://login.example.com/?tenant=1', 'must not have a user, a query or a fragment'],
    ['OIDC_ACCOUNT', 'usr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA', 'must be the id of an account'],
    ['TRUST_PROXY', '1', 'a hop count cannot distinguish a proxy from another client'],
    ['TRUST_PROXY', '0.0.0.0/0', 'must be a comma-separated list of addresses and CIDR ranges'],
    ['TRUST_PROXY', '10.0.0.0/33', 'must be a comma-separated list of addresses and CIDR ranges'],
    ['TRUST_PROXY', '10.0.0.1,', 'must be a comma-separated list of addresses and CIDR ranges'],
    ['TRUST_PROXY', 'proxy.example.com', 'must be a comma-separated list of addresses and CIDR ranges'],
  ])('refuses %s %p', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringContaining(problem)]);
  });

  it.each([
    ['no ASCII', 'a-gateway-tökén-of-some-length'],
    ['a quote', 'a-gateway-token-with-"-in-it'],
    ['a backslash', 'a-gateway-token-with-\\-in-it'],
    ['an empty one in the list', 'a-token-of-twenty-or-more,,another-token-of-twenty'],
  ])('refuses GATEWAY_TOKENS of %s without echoing them', (_, tokens) => {
    const [text = ''] = problemsOf({ GATEWAY_TOKENS: tokens });
    expect(text).toMatch(/^GATEWAY_TOKENS must be a comma-separated list of tokens of 20 to 255 printable ASCII/);
    expect(text).not.toContain(tokens);
  });

  it('reads GATEWAY_TOKENS as a list, and refuses a token that is also the BOOTSTRAP_API_KEY', () => {
    const tokens = ['a-token-of-twenty-or-more', 'another-token-of-twenty'];
    expect(readConfig({ GATEWAY_TOKENS: tokens.join(', ') }).gatewayTokens).toEqual(tokens.map((token) => ({ token })));
    expect(readConfig({}).gatewayTokens).toEqual([]);
    expect(problemsOf({ GATEWAY_TOKENS: tokens.join(','), BOOTSTRAP_API_KEY: 'another-token-of-twenty' })).toEqual([
      'GATEWAY_TOKENS holds BOOTSTRAP_API_KEY as well; make another token',
    ]);
  });

  it.each(['x'.repeat(19), 'x'.repeat(256), 'a metrics token with blanks', 'two-tokens-of-metrics,two-tokens'])(
    'refuses METRICS_TOKEN %p without echoing it',
    (token) => {
      const [text = ''] = problemsOf({ METRICS_TOKEN: token });
      expect(text).toMatch(
        /^METRICS_TOKEN must be 20 to 255 printable ASCII characters, without blanks, commas, " and \\;/,
      );
      expect(text).not.toContain(token);
    },
  );

  it('refuses a METRICS_TOKEN that gives access to other routes as well', () => {
    const token = 'a-token-of-twenty-or-more';
    for (const other of ['BOOTSTRAP_API_KEY', 'GATEWAY_TOKENS']) {
      expect(problemsOf({ METRICS_TOKEN: token, [other]: token })).toEqual([
        'METRICS_TOKEN is also BOOTSTRAP_API_KEY or one of GATEWAY_TOKENS; make another',
      ]);
    }
  });

  it.each(['https://example.com', 'https://tunnels.example.com', 'https://api.tunnels.example.com/path'])(
    'refuses a TUNNEL_DOMAIN that is the host of PUBLIC_URL, above or below it: %s',
    (PUBLIC_URL) => {
      const TUNNEL_DOMAIN = 'https://tunnels.example.com';
      expect(problemsOf({ TUNNEL_DOMAIN, PUBLIC_URL })).toEqual([
        'TUNNEL_DOMAIN is the host of PUBLIC_URL, or above or below it; take a domain of its own',
      ]);
      expect(readConfig({ TUNNEL_DOMAIN, PUBLIC_URL: 'https://api.example.com' }).tunnelDomain?.host).toBe(
        'tunnels.example.com',
      );
    },
  );

  it('refuses METRICS_LISTEN without a port, and on the port of the service', () => {
    expect(problemsOf({ METRICS_LISTEN: '9464' })).toEqual([
      "METRICS_LISTEN '9464' must be an address and a port from 1 to 65535, IPv6 in brackets; for example: 127.0.0.1:9464",
    ]);
    expect(problemsOf({ METRICS_LISTEN: '127.0.0.1:8080' })).toEqual([
      'METRICS_LISTEN has the port of the service (PORT); choose another',
    ]);
    expect(readConfig({ METRICS_LISTEN: '[::1]:9464' }).metricsAddress).toEqual({ host: '::1', port: 9464 });
  });

  it('refuses a DECISIONS_QUEUE_LIMIT below the decisions of one request', () => {
    expect(problemsOf({ DECISIONS_QUEUE_LIMIT: '999' })).toEqual([expect.stringContaining('from 1000 to 1000000')]);
    expect(readConfig({ DECISIONS_RETENTION_DAYS: '0' }).decisionsRetentionDays).toBe(0);
  });

  it('requires OIDC_ISSUER and OIDC_AUDIENCE together', () => {
    expect(problemsOf({ OIDC_ISSUER: 'https://login.example.com' })).toEqual([
      'OIDC_ISSUER is set without OIDC_AUDIENCE',
    ]);
    expect(problemsOf({ OIDC_AUDIENCE: 'tunnel-access' })).toEqual(['OIDC_AUDIENCE is set without OIDC_ISSUER']);
    const issuer = 'https://tenant.example.com/';
    expect(readConfig({ OIDC_ISSUER: issuer, OIDC_AUDIENCE: 'tunnel-access' }).oidcIssuer).toBe(issuer);
    expect(readConfig({ OIDC_ISSUER: 'http://[::1]:8081', OIDC_AUDIENCE: 'x' }).oidcIssuer).toBe('http://[::1]:8081');
  });

  it('reads TRUST_PROXY as a list of addresses, ranges and named ranges', () => {
    const { trustedProxies } = readConfig({ TRUST_PROXY: '10.0.0.0/8, 2001:db8::/32,192.0.2.7,loopback' });
    expect(trustedProxies).toEqual(['10.0.0.0/8', '2001:db8::/32', '192.0.2.7', 'loopback']);
    expect(readConfig({}).trustedProxies).toEqual([]);
  });

  it('keeps PUBLIC_URL without its trailing slash', () => {
    expect(readConfig({ PUBLIC_URL: 'https://api.example.com/base/' }).publicUrl).toBe('https://api.example.com/base');
  });
});
