import { request } from 'node:http';
import { connect } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { FastifyAdapter, type NestFastifyApplication } from '@nestjs/platform-fastify';
import { type ConfigError, readConfig } from '../src/config.js';
import { MIN_COMPRESSED_BYTES, TIMEOUTS, type Timeouts } from '../src/http/headers.js';
import { fastifyOptions, serveHttp } from '../src/http/server.js';
import { IdSource } from '../src/ids.js';
import { newPublicKey } from './support/keys.js';
import { ADMIN_KEY, type Service, startService } from './support/service.js';

const CREDENTIALS = 30;
const ORIGIN = 'https://console.example.test';
const AUTHORIZATION = { authorization: `Bearer ${ADMIN_KEY}` };
const UNKNOWN = '/ssh_credentials/sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';

let service: Service;
/** The same, for pages of one origin, behind TLS. */
let forPages: Service;
let single: string;
beforeAll(async () => {
  [service, forPages] = await Promise.all([
    startService({ authFailuresPerMinute: 0 }),
    startService({ authFailuresPerMinute: 3, publicUrl: 'https://api.example.test', corsOrigins: [ORIGIN] }),
  ]);
  for (let n = 0; n < CREDENTIALS; n += 1) {
    const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    single = `/ssh_credentials/${body.id}`;
  }
});
afterAll(() => Promise.all([service.stop(), forPages.stop()]));

interface Seen {
  readonly status: number;
  readonly headers: Record<string, string | undefined>;
  readonly bytes: Buffer;
}

/** One request on a connection of its own; unlike fetch it adds no header and undoes no encoding. */
const call = (
  method: string,
  path: string,
  headers: Record<string, string> = AUTHORIZATION,
  { url = service.app.url, body = '' } = {},
): Promise<Seen> =>
  new Promise((resolve, reject) => {
    const sent = request(new URL(url + path), { method, headers, agent: false }, (answer) => {
      const chunks: Buffer[] = [];
      answer.on('data', (chunk: Buffer) => chunks.push(chunk));
      answer.on('end', () => {
        const seen = answer.headers as Record<string, string | undefined>;
        resolve({ status: answer.statusCode ?? 0, headers: seen, bytes: Buffer.concat(chunks) });
      });
    });
    sent.on('error', reject).end(body);
  });

/** Writes the pieces one after another and reads to the end of the connection. */
function sendRaw(url: string, pieces: readonly string[], everyMs = 0): Promise<string> {
  const { hostname, port } = new URL(url);
  return new Promise((resolve, reject) => {
    let [answer, n] = ['', 0];
    const socket = connect(Number(port), hostname);
    const timer = setInterval(() => {
      const piece = pieces[n];
      if (piece === undefined) return clearInterval(timer);
      socket.write(piece);
      n += 1;
    }, everyMs);
    socket.on('data', (data) => {
      answer += data;
    });
    socket.on('error', reject).on('end', () => socket.end());
    socket.on('close', () => {
      clearInterval(timer);
      resolve(answer);
    });
  });
}

/** The same headers, as far as they are not of the one answer. */
const lasting = ({ headers }: Seen) => ({ ...headers, date: undefined, 'ngrok-operation-id': undefined });
const crossOriginHeaders = ({ headers }: Seen) =>
  Object.keys(headers).filter((name) => name.startsWith('access-control-'));

describe('every answer', () => {
  const expectManners = (headers: Seen['headers']) => {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    for (const name of ['server', 'x-powered-by', 'strict-transport-security']) expect(headers[name]).toBeUndefined();
  };

  it.each([
    ['a thing', 200, () => call('GET', single)],
    ['a list', 200, () => call('GET', '/ssh_credentials')],
    ['what the caller has already', 304, () => call('GET', single, { ...AUTHORIZATION, 'if-none-match': '*' })],
    ['an unread body', 400, () => call('POST', '/ssh_credentials', AUTHORIZATION, { body: '{' })],
    ['a stranger', 401, () => call('GET', single, {})],
    ['an unknown id', 404, () => call('GET', UNKNOWN)],
    ['an unknown route', 404, () => call('GET', '/nope')],
    ['a malformed path', 400, () => call('GET', '/ssh_credentials/%zz')],
    ['OPTIONS', 204, () => call('OPTIONS', single, {})],
    [
      'another type',
      415,
      () => call('POST', '/ssh_credentials', { ...AUTHORIZATION, 'content-type': 'text/plain' }, { body: 'x' }),
    ],
  ])('has the headers of a private API: %s', async (_, status, send) => {
    const answer = await send();
    expect(answer.status).toBe(status);
    expectManners(answer.headers);
  });

  it('has them when it is a 500', async () => {
    const broken = await startService();
    await broken.pool.query('alter table ssh_credentials rename to hidden');
    const answer = await call('GET', '/ssh_credentials', AUTHORIZATION, { url: broken.app.url });
    expect(answer.status).toBe(500);
    expectManners(answer.headers);
    await broken.stop();
  });

  it.each([
    ['what is not HTTP', 400, 'BLAH\r\n\r\n'],
    ['too large headers', 431, `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('has them when there is no request to speak of: %s', async (_, status, text) => {
    const answer = await sendRaw(service.app.url, [text]);
    const [head = ''] = answer.split('\r\n\r\n');
    const [line = '', ...headers] = head.split('\r\n');
    expect(line).toContain(` ${status} `);
    expectManners(Object.fromEntries(headers.map((header) => header.split(': '))));
  });

  it('promises TLS for a year where PUBLIC_URL is https, and only there', async () => {
    const { headers } = await call('GET', '/nope', {}, { url: forPages.app.url });
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
  });
});

describe('HEAD', () => {
  it('is there for every GET', () => {
    const pathsOf = (method: string) => service.app.routes.filter((r) => r.method === method).map((r) => r.path);
    expect(pathsOf('GET').length).toBeGreaterThan(5);
    expect(pathsOf('HEAD').sort()).toEqual(pathsOf('GET').sort());
  });

  it('answers as GET does, without the body: a thing, a list, a compressed list', async () => {
    for (const [path, headers] of [
      [single, {}],
      ['/ssh_credentials', {}],
      ['/ssh_credentials', { 'accept-encoding': 'gzip' }],
      [single, { 'idempotency-key': 'tab\there' }],
    ] as const) {
      const [get, head] = [
        await call('GET', path, { ...AUTHORIZATION, ...headers }),
        await call('HEAD', path, { ...AUTHORIZATION, ...headers }),
      ];
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      expect(lasting(head)).toEqual(lasting(get));
      expect(head.headers['content-length']).toBe(String(get.bytes.length));
    }
  });

  it('has the ETag, and is 304 when it is known', async () => {
    expect((await call('HEAD', single)).headers.etag).toBe('"1"');
    expect((await call('HEAD', single, { ...AUTHORIZATION, 'if-none-match': '"1"' })).status).toBe(304);
  });

  it('needs a key, and a thing that is there', async () => {
    for (const path of [single, '/ssh_credentials']) expect((await call('HEAD', path, {})).status).toBe(401);
    expect((await call('HEAD', UNKNOWN)).status).toBe(404);
  });

  it('sends not one byte behind its headers', async () => {
    const answer = await sendRaw(service.app.url, [
      `HEAD ${single} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n$/s);
  });
});

describe('a 304', () => {
  it('has the ETag and neither body nor length nor type', async () => {
    const { status, headers, bytes } = await call('GET', single, { ...AUTHORIZATION, 'if-none-match': '"1"' });
    expect([status, headers.etag, bytes.length]).toEqual([304, '"1"', 0]);
    expect(headers['content-length']).toBeUndefined();
    expect(headers['content-type']).toBeUndefined();
  });
});

describe('a method that the path does not have', () => {
  it.each([
    ['PUT', '/ssh_credentials', 'GET, HEAD, POST, OPTIONS'],
    ['DELETE', '//ssh_credentials//?a=/b', 'GET, HEAD, POST, OPTIONS'],
    ['POST', UNKNOWN, 'DELETE, GET, HEAD, PATCH, OPTIONS'],
    ['PROPFIND', '/edges/tcp/x/backend', 'DELETE, GET, HEAD, PUT, OPTIONS'],
    ['TRACE', '/users', 'GET, HEAD, POST, OPTIONS'],
  ])('%s %s is 404 as the contract says, and Allow says what there is', async (method, path, allow) => {
    const { status, headers, bytes } = await call(method, path);
    expect([status, headers.allow]).toEqual([404, allow]);
    expect(JSON.parse(bytes.toString())).toMatchObject({ error_code: 'ERR_TAS_404', status_code: 404 });
  });

  it('of an unknown path has no Allow', async () => {
    for (const method of ['GET', 'OPTIONS', 'PUT']) {
      for (const path of ['/nope', '/ssh_credentials/a/b', '/']) {
        const { status, headers } = await call(method, path);
        expect([status, headers.allow]).toEqual([404, undefined]);
      }
    }
  });
});

describe('OPTIONS', () => {
  it('of a known path is 204 with Allow, without a key and without a body', async () => {
    const { status, headers, bytes } = await call('OPTIONS', '/ssh_credentials', {});
    expect([status, headers.allow, bytes.length]).toEqual([204, 'GET, HEAD, POST, OPTIONS', 0]);
    expect(headers['content-length']).toBeUndefined();
  });

  it('of the server as a whole is 404', async () => {
    const answer = await sendRaw(service.app.url, ['OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n']);
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
  });
});

const PREFLIGHT = { 'access-control-request-method': 'PATCH', 'access-control-request-headers': 'authorization' };

describe('without CORS_ORIGINS', () => {
  it('no page of another origin is told anything', async () => {
    for (const origin of [ORIGIN, 'null', service.app.url]) {
      const answers = [
        await call('GET', single, { ...AUTHORIZATION, origin }),
        await call('GET', single, { origin }),
        await call('OPTIONS', single, { origin, ...PREFLIGHT }),
        await call('OPTIONS', '/nope', { origin, ...PREFLIGHT }),
      ];
      expect(answers.map((a) => a.status)).toEqual([200, 401, 204, 404]);
      expect(answers.flatMap(crossOriginHeaders)).toEqual([]);
      expect(answers[0]?.headers.vary).toBeUndefined();
    }
  });
});

describe('with CORS_ORIGINS', () => {
  const ask = (method: string, path: string, headers: Record<string, string>, body = '') =>
    call(method, path, headers, { url: forPages.app.url, body });

  it('a page of that origin may read every answer, errors too, and the headers it needs', async () => {
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
      expect(headers['access-control-expose-headers']).toBe('ETag, Log-Position, Ngrok-Operation-Id, Retry-After');
      expect(headers['access-control-allow-credentials']).toBeUndefined();
      expect(headers.vary?.split(', ')).toContain('Origin');
    }
  });

  it('a preflight needs no key, is no failed authentication, and lets through what clients send', async () => {
    for (let n = 0; n < 10; n += 1) {
      for (const path of ['/ssh_credentials', UNKNOWN, '/nope']) {
        const { status, headers, bytes } = await ask('OPTIONS', path, { origin: ORIGIN, ...PREFLIGHT });
        expect([status, bytes.length]).toEqual([204, 0]);
        expect(headers).toMatchObject({
          'access-control-allow-origin': ORIGIN,
          'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
          'access-control-allow-headers':
            'Authorization, Content-Type, Idempotency-Key, If-Match, If-None-Match, Last-Event-ID, Ngrok-Version',
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
  ])('another origin may nothing: %p', async (origin) => {
    const answers = [
      await ask('GET', '/ssh_credentials', { ...AUTHORIZATION, origin }),
      await ask('OPTIONS', '/ssh_credentials', { origin, ...PREFLIGHT }),
    ];
    expect(answers.flatMap(crossOriginHeaders)).toEqual([]);
    expect(answers.map((a) => a.headers.vary?.split(', ')[0])).toEqual(['Origin', 'Origin']);
    expect((await ask('OPTIONS', '/nope', { origin, ...PREFLIGHT })).status).toBe(404);
  });

  it('of * any page may read, still without credentials', async () => {
    const open = await startService({ corsOrigins: ['*'] });
    const [origin, url] = ['https://anyone.example.test', open.app.url];
    for (const answer of [
      await call('GET', single, { origin }, { url }),
      await call('GET', single, {}, { url }),
      await call('OPTIONS', single, { origin, ...PREFLIGHT }, { url }),
    ]) {
      expect(answer.headers['access-control-allow-origin']).toBe('*');
      expect(answer.headers['access-control-allow-credentials']).toBeUndefined();
      expect(answer.headers.vary).toBeUndefined();
    }
    expect(await sendRaw(url, ['BLAH\r\n\r\n'])).toContain('\r\naccess-control-allow-origin: *\r\n');
    await open.stop();
  });

  it('are read as browsers write them', () => {
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
  ])('are refused at start when they are no origins: %p', (text) => {
    let problems: readonly string[] = [];
    try {
      readConfig({ CORS_ORIGINS: text });
    } catch (error) {
      problems = (error as ConfigError).problems;
    }
    expect(problems).toEqual([
      `CORS_ORIGINS '${text}' must be '*' alone, or http and https origins without a path, separated by commas; for example: https://console.example.com`,
    ]);
  });
});

describe('compression', () => {
  const list = (encoding?: string) =>
    call('GET', '/ssh_credentials', { ...AUTHORIZATION, ...(encoding && { 'accept-encoding': encoding }) });

  it.each([['gzip'], ['gzip, deflate, br, zstd'], ['br;q=0.2, GZIP'], ['*'], ['identity;q=0.1, gzip;q=0.2']])(
    'of a list for who sends Accept-Encoding: %s',
    async (accepted) => {
      const [plain, { headers, bytes }] = [await list(), await list(accepted)];
      expect(plain.headers['content-encoding']).toBeUndefined();
      expect(headers['content-encoding']).toBe('gzip');
      expect(headers['content-type']).toBe('application/json; charset=utf-8');
      expect(headers['content-length']).toBe(String(bytes.length));
      expect(bytes.length).toBeLessThan(plain.bytes.length / 2);
      expect(gunzipSync(bytes).toString()).toBe(plain.bytes.toString());
      expect([plain.headers.vary, headers.vary]).toEqual(['Accept-Encoding', 'Accept-Encoding']);
    },
  );

  it.each([['identity'], ['gzip;q=0'], ['deflate'], ['br'], ['identity, gzip;q=0.5'], [',;q=']])(
    'not for who sends Accept-Encoding: %s',
    async (accepted) => {
      const { headers, bytes } = await list(accepted);
      expect(headers['content-encoding']).toBeUndefined();
      expect(JSON.parse(bytes.toString()).ssh_credentials).toHaveLength(CREDENTIALS);
    },
  );

  it('not of a short list, nor of errors', async () => {
    const headers = { ...AUTHORIZATION, 'accept-encoding': 'gzip' };
    const short = await call('GET', '/ssh_credentials?limit=1', headers);
    expect(short.bytes.length).toBeLessThan(MIN_COMPRESSED_BYTES);
    for (const { headers: seen } of [short, await call('GET', '/nope', headers)]) {
      expect(seen['content-encoding']).toBeUndefined();
    }
  });

  it('not of a single thing, however long: its strong ETag stands for these bytes', async () => {
    const headers = { ...AUTHORIZATION, 'accept-encoding': 'gzip' };
    const body = JSON.stringify({ public_key: newPublicKey(), metadata: 'x'.repeat(4096) });
    const made = await call('POST', '/ssh_credentials', headers, { body });
    const got = await call('GET', `/ssh_credentials/${JSON.parse(made.bytes.toString()).id}`, headers);
    for (const answer of [made, got]) {
      expect(answer.bytes.length).toBeGreaterThan(MIN_COMPRESSED_BYTES);
      expect([answer.headers.etag, answer.headers['content-encoding']]).toEqual(['"1"', undefined]);
    }
  });

  it('varies by origin and encoding both', async () => {
    const { headers } = await call('GET', '/ssh_credentials', AUTHORIZATION, { url: forPages.app.url });
    expect(headers.vary).toBe('Origin, Accept-Encoding');
  });
});

@Module({})
class NoModule {}

const SHORT: Timeouts = { keepAliveMs: 300, headersMs: 300, requestMs: 700, checkEveryMs: 30 };
const OWN_POLICY = "default-src 'self'";

/** The real server with routes of this file alone, which all are public. */
async function startBare(timeouts?: Timeouts): Promise<{ nest: NestFastifyApplication; url: string }> {
  const config = readConfig({});
  const adapter = new FastifyAdapter(fastifyOptions(new IdSource(), config, timeouts));
  const nest = await NestFactory.create<NestFastifyApplication>(NoModule, adapter, {
    logger: false,
    bodyParser: false,
  });
  const nobody = () => Promise.reject(new Error('no route asks'));
  const authentication = { authenticate: nobody, authenticateGateway: nobody, isStill: nobody };
  serveHttp(nest, { config, authentication });
  const server = adapter.getInstance();
  const options = { config: { isPublic: true } } as object;
  server.get('/page', options, (_, reply) => {
    void reply.header('content-security-policy', OWN_POLICY).type('text/html').send('x'.repeat(10_000));
  });
  server.get('/packed', options, (_, reply) => {
    void reply.header('content-encoding', 'gzip').type('text/plain').send('x'.repeat(10_000));
  });
  server.post('/taken', options, (_, reply) => {
    void reply.send({ taken: true });
  });
  await nest.listen(0, '127.0.0.1');
  return { nest, url: await nest.getUrl() };
}

describe('a public route', () => {
  let bare: Awaited<ReturnType<typeof startBare>>;
  beforeAll(async () => {
    bare = await startBare();
  });
  afterAll(() => bare.nest.close());

  it('may be kept but is asked for again, and a policy of its own wins', async () => {
    const { status, headers } = await call('GET', '/page', {}, bare);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-security-policy': OWN_POLICY,
      'x-content-type-options': 'nosniff',
    });
  });

  it('is compressed too, but never twice', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const page = await call('GET', '/page', headers, bare);
    expect(gunzipSync(page.bytes).length).toBe(10_000);
    const packed = await call('GET', '/packed', headers, bare);
    expect([packed.headers['content-encoding'], packed.bytes.length]).toEqual(['gzip', 10_000]);
  });

  it('is served with time limits that suit proxies, and any number of times on one connection', () => {
    const server = bare.nest.getHttpServer();
    expect(server).toMatchObject({
      keepAliveTimeout: TIMEOUTS.keepAliveMs,
      headersTimeout: TIMEOUTS.headersMs,
      requestTimeout: TIMEOUTS.requestMs,
    });
    expect(server.maxRequestsPerSocket ?? 0).toBe(0);
    expect(TIMEOUTS.keepAliveMs).toBeGreaterThan(60_000);
    expect(TIMEOUTS.headersMs).toBeLessThan(TIMEOUTS.requestMs);
  });
});

describe('who takes too long', () => {
  let bare: Awaited<ReturnType<typeof startBare>>;
  beforeAll(async () => {
    bare = await startBare(SHORT);
  });
  afterAll(() => bare.nest.close());

  const expectTimeout = (answer: string) => {
    expect(answer).toMatch(/^HTTP\/1.1 408 Request Timeout\r\n/);
    expect(answer).toContain('\r\ncache-control: no-store\r\n');
    expect(answer).toContain('\r\nconnection: close\r\n');
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual({
      error_code: 'ERR_TAS_408',
      status_code: 408,
      msg: 'The request did not arrive in time.',
      details: { operation_id: expect.stringMatching(/^op_[0-9A-Za-z]{27}$/) },
    });
  };
  const dripped = (text: string) => [...text.padEnd(1_000, 'x')];

  it('with the headers, a byte at a time, is cut off with 408', async () => {
    expectTimeout(await sendRaw(bare.url, dripped('GET /page HTTP/1.1\r\nHost: x\r\nX-Slow: '), 20));
  });

  it('with the body, a byte at a time, is cut off with 408', async () => {
    const head = 'POST /taken HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n';
    expectTimeout(await sendRaw(bare.url, [head, ...dripped('')], 20));
  });

  it('and sends nothing at all is cut off', async () => {
    expectTimeout(await sendRaw(bare.url, []));
  });

  it('with the next request is cut off without a word', async () => {
    const started = performance.now();
    const answer = await sendRaw(bare.url, ['POST /taken HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n']);
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\{"taken":true\}$/s);
    expect(performance.now() - started).toBeGreaterThan(SHORT.keepAliveMs - 50);
  });

  it('does not hinder the others: hundreds of requests on one connection', async () => {
    const one = 'POST /taken HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
    const answer = await sendRaw(bare.url, [one.repeat(400)]);
    expect(answer.split('{"taken":true}')).toHaveLength(401);
  });
});
