import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ConfigError, readConfig } from '../src/api/config/config.js';
import { newPublicKey } from './support/keys.js';
import { AUTHORIZATION, call, type RawAnswer, sendRaw } from './support/raw-http.js';
import { type Service, startCopy, startService } from './support/service.js';

const ORIGIN = 'https://console.example.test';
const UNKNOWN = '/ssh_credentials/sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';

let service: Service;
/** Allows pages of one origin. */
let forPages: Service;
let single: string;
beforeAll(async () => {
  [service, forPages] = await Promise.all([
    startService({ authFailuresPerMinute: 0 }),
    startService({ authFailuresPerMinute: 3, corsOrigins: [ORIGIN] }),
  ]);
  const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
  single = `/ssh_credentials/${body.id}`;
});
afterAll(() => Promise.all([service.stop(), forPages.stop()]));

const crossOriginHeaders = ({ headers }: RawAnswer) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

const PREFLIGHT = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };

describe('without CORS_ORIGINS', () => {
  it('a page of another origin gets no CORS header', async () => {
    for (const origin of [ORIGIN, 'null', service.app.url]) {
      const answers = [
        await call(service.app.url, 'GET', single, { ...AUTHORIZATION, origin }),
        await call(service.app.url, 'GET', single, { origin }),
        await call(service.app.url, 'OPTIONS', single, { origin, ...PREFLIGHT }),
        await call(service.app.url, 'OPTIONS', '/nope', { origin, ...PREFLIGHT }),
      ];
      expect(answers.map((a) => a.status)).toEqual([200, 401, 204, 404]);
      expect(answers.flatMap(crossOriginHeaders)).toEqual([]);
      expect(answers[0]?.headers.vary).toBeUndefined();
    }
  });
});

describe('with CORS_ORIGINS', () => {
  const ask = (method: string, path: string, headers: Record<string, string>, body = '') =>
    call(forPages.app.url, method, path, headers, body);

  it('a page of that origin may read every answer, even an error, and the headers that it needs', async () => {
    const page = { origin: ORIGIN, ...AUTHORIZATION };
    const answers = [
      await ask('GET', '/ssh_credentials', page),
      await ask('POST', '/ssh_credentials', page, '{'),
      await ask('POST', '/ssh_credentials', { ...page, 'content-type': 'text/plain' }, 'x'),
      await ask('GET', '/ssh_credentials', { origin: ORIGIN }),
      await ask('GET', UNKNOWN, page),
      await ask('PUT', '/nope', page),
      await ask('GET', '/ssh_credentials/%zz', page),
    ];
    expect(answers.map((a) => a.status)).toEqual([200, 400, 415, 401, 404, 404, 400]);
    for (const { headers } of answers) {
      expect(headers['access-control-allow-origin']).toBe(ORIGIN);
      expect(headers['access-control-expose-headers']).toBe(
        'ETag, Link, Log-Position, Ngrok-Operation-Id, RateLimit, RateLimit-Policy, Retry-After',
      );
      expect(headers['access-control-allow-credentials']).toBeUndefined();
      expect(headers.vary?.split(', ')).toContain('Origin');
    }
  });

  it('a preflight needs no key, is not a failed authentication, and allows the headers of clients', async () => {
    for (let n = 0; n < 10; n += 1) {
      for (const path of ['/ssh_credentials', UNKNOWN, '/nope']) {
        const { status, headers, bytes } = await ask('OPTIONS', path, { origin: ORIGIN, ...PREFLIGHT });
        expect([status, bytes.length]).toEqual([204, 0]);
        expect(headers).toMatchObject({
          'access-control-allow-origin': ORIGIN,
          'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers':
            'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Ngrok-Version, Traceparent, Tracestate',
          'access-control-max-age': '7200',
          vary: 'Origin',
        });
      }
    }
    expect((await ask('GET', '/users', { origin: ORIGIN, authorization: 'Bearer wrong' })).status).toBe(401);
  });

  it.each([
    ['http://console.example.test'],
    ['https://console.example.test:8443'],
    ['https://console.example.test.evil.test'],
    ['https://evil-console.example.test'],
    ['HTTPS://CONSOLE.EXAMPLE.TEST'],
    ['null'],
    ['*'],
    [''],
  ])('another origin gets no CORS header: %p', async (origin) => {
    const answers = [
      await ask('GET', '/ssh_credentials', { ...AUTHORIZATION, origin }),
      await ask('OPTIONS', '/ssh_credentials', { origin, ...PREFLIGHT }),
    ];
    expect(answers.flatMap(crossOriginHeaders)).toEqual([]);
    expect(answers.map((a) => a.headers.vary?.split(', ')[0])).toEqual(['Origin', 'Origin']);
    expect((await ask('OPTIONS', '/nope', { origin, ...PREFLIGHT })).status).toBe(404);
  });

  it('that is *, any page may read, still without credentials', async () => {
    const open = await startCopy(service, { corsOrigins: ['*'] });
    const [origin, url] = ['https://anyone.example.test', open.app.url];
    for (const answer of [
      await call(url, 'GET', single, { origin }),
      await call(url, 'GET', single, {}),
      await call(url, 'OPTIONS', single, { origin, ...PREFLIGHT }),
    ]) {
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      expect(answer.headers.vary).toBeUndefined();
    }
    expect(await sendRaw(url, ['BLAH\r\n\r\n'])).toContain('\r\naccess-control-allow-origin: *\r\n');
    await open.stop();
  });

  it('parses origins as browsers write them', () => {
    const read = (text: string) => readConfig({ CORS_ORIGINS: text }).corsOrigins;
    expect(readConfig({}).corsOrigins).toEqual([]);
    expect(read(' * ')).toEqual(['*']);
    expect(read('https://A.example.test:443, http://localhost:3000/,http://[::1]:81')).toEqual([
      'https://a.example.test',
      'http://localhost:3000',
      'http://[::1]:81',
    ]);
  });

  it.each([
    ['console.example.test'],
    ['https://a.example.test,*'],
    ['https://*.example.test'],
    ['https://a.example.test/app'],
    ['https://a.example.test?'],
    ['https://user@a.example.test'],
    ['https://a.example.test,'],
    ['ftp://a.example.test'],
    ['null'],
  ])('refuses at start a text that is not a list of origins: %p', (text) => {
    let problems: readonly string[] = [];
    try {
      readConfig({ CORS_ORIGINS: text });
    } catch (error) {
      problems = (error as ConfigError).problems;
    }
    expect(problems).toEqual([
      `CORS_ORIGINS '${text.replace('user@', '[redacted]@').replace(/\?$/, '?[redacted]')}' must be '*' alone, or http and https origins without a path, separated by commas; for example: https://console.example.com`,
    ]);
  });
});
