import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newPublicKey } from './support/keys.js';
import { AUTHORIZATION, call, type RawAnswer, sendRaw } from './support/raw-http.js';
import { ADMIN_KEY, type Service, startService } from './support/service.js';

/** Enough items for a compressed list. */
const CREDENTIALS = 30;
const UNKNOWN = '/ssh_credentials/sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';

let service: Service;
let single: string;
beforeAll(async () => {
  service = await startService({ authFailuresPerMinute: 0 });
  for (let n = 0; n < CREDENTIALS; n += 1) {
    const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    single = `/ssh_credentials/${body.id}`;
  }
});
afterAll(() => service.stop());

const send = (method: string, path: string, headers?: Record<string, string>) =>
  call(service.app.url, method, path, headers);

/** The headers of an answer without those that differ from answer to answer. */
const lasting = ({ headers }: RawAnswer) => ({ ...headers, date: undefined, 'ngrok-operation-id': undefined });

describe('HEAD', () => {
  it('exists for every GET', () => {
    const pathsOf = (method: string) => service.app.routes.filter((r) => r.method === method).map((r) => r.path);
    expect(pathsOf('GET').length).toBeGreaterThan(5);
    expect(pathsOf('HEAD').sort()).toEqual(pathsOf('GET').sort());
  });

  it('answers like GET, without the body: a resource, a list, a compressed list', async () => {
    for (const [path, headers] of [
      [single, {}],
      ['/ssh_credentials', {}],
      ['/ssh_credentials', { 'accept-encoding': 'gzip' }],
      [single, { 'idempotency-key': 'tab\there' }],
    ] as const) {
      const [get, head] = [
        await send('GET', path, { ...AUTHORIZATION, ...headers }),
        await send('HEAD', path, { ...AUTHORIZATION, ...headers }),
      ];
      expect([head.status, head.bytes.length]).toEqual([200, 0]);
      expect(lasting(head)).toEqual(lasting(get));
      expect(head.headers['content-length']).toBe(String(get.bytes.length));
    }
  });

  it('has the ETag, and answers 304 if the caller has the same one', async () => {
    expect((await send('HEAD', single)).headers.etag).toBe('"1"');
    expect((await send('HEAD', single, { ...AUTHORIZATION, 'if-none-match': '"1"' })).status).toBe(304);
  });

  it('needs a key and an existing resource', async () => {
    for (const path of [single, '/ssh_credentials']) expect((await send('HEAD', path, {})).status).toBe(401);
    expect((await send('HEAD', UNKNOWN)).status).toBe(404);
  });

  it('sends no byte after its headers', async () => {
    const answer = await sendRaw(service.app.url, [
      `HEAD ${single} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n\r\n`,
    ]);
    expect(answer).toMatch(/^HTTP\/1.1 200 .*\r\n\r\n$/s);
  });
});

describe('a 304', () => {
  it('has the ETag, but no body, length or type', async () => {
    const { status, headers, bytes } = await send('GET', single, { ...AUTHORIZATION, 'if-none-match': '"1"' });
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
  ])("%s %s is 404 by the contract, and Allow lists the path's methods", async (method, path, allow) => {
    const { status, headers, bytes } = await send(method, path);
    expect([status, headers.allow]).toEqual([404, allow]);
    expect(JSON.parse(bytes.toString())).toMatchObject({
      error_code: 'ERR_TAS_404',
      status_code: 404,
      msg: `This path has no method ${method}; it has ${allow}.`,
    });
  });

  it('gets no Allow on an unknown path', async () => {
    for (const method of ['GET', 'OPTIONS', 'PUT']) {
      for (const path of ['/nope', '/ssh_credentials/a/b']) {
        const { status, headers } = await send(method, path);
        expect([status, headers.allow]).toEqual([404, undefined]);
      }
    }
  });
});

describe('an unknown path', () => {
  it.each([
    ['/tcp_edges', 'a path near it is /edges/tcp'],
    ['/tcp_edges/edgtcp_3MPflUxi65UVJUZK1y0iEJKUOhV', 'a path near it is /edges/tcp'],
    ['/v1/ssh_credentials', 'a path near it is /ssh_credentials'],
    ['/ssh_credentails?limit=1', 'a path near it is /ssh_credentials'],
    ['/bots', 'a path near it is /bot_users'],
    ['/edges/https', 'GET /openapi.json lists all paths'],
    ['/nope', 'GET /openapi.json lists all paths'],
    ['/%00', 'GET /openapi.json lists all paths'],
    [`/${'edges-'.repeat(2_000)}`, 'GET /openapi.json lists all paths'],
  ])('%s says so, and what is near', async (path, near) => {
    const { status, bytes } = await send('GET', path);
    expect([status, JSON.parse(bytes.toString()).msg]).toEqual([404, `The service has no such path; ${near}.`]);
  });
});

describe('OPTIONS', () => {
  it('is 204 with Allow on a known path, without a key and without a body', async () => {
    const { status, headers, bytes } = await send('OPTIONS', '/ssh_credentials', {});
    expect([status, headers.allow, bytes.length]).toEqual([204, 'GET, HEAD, POST, OPTIONS', 0]);
    expect(headers['content-length']).toBeUndefined();
  });

  it('is 404 for the server as a whole', async () => {
    const answer = await sendRaw(service.app.url, ['OPTIONS * HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n']);
    expect(answer).toMatch(/^HTTP\/1.1 404 /);
  });
});
