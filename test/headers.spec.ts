import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { OWN_POLICY, startBareServer } from './support/bare-server.js';
import { takeErrorLines } from './support/error-lines.js';
import { newPublicKey } from './support/keys.js';
import { AUTHORIZATION, call, type RawAnswer, sendRaw } from './support/raw-http.js';
import { type Service, startCopy, startService } from './support/service.js';

const UNKNOWN = '/ssh_credentials/sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV';

let service: Service;
let single: string;
beforeAll(async () => {
  service = await startService({ authFailuresPerMinute: 0 });
  const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
  single = `/ssh_credentials/${body.id}`;
});
afterAll(() => service.stop());

const send = (method: string, path: string, headers?: Record<string, string>, body?: string) =>
  call(service.app.url, method, path, headers, body);

describe('every answer', () => {
  const expectStandardHeaders = (headers: RawAnswer['headers']) => {
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'content-security-policy': "default-src 'none'; frame-ancestors 'none'",
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
    });
    for (const name of ['server', 'x-powered-by', 'strict-transport-security']) expect(headers[name]).toBeUndefined();
  };

  const problem = (status: number, msg: unknown = expect.any(String)) => ({
    ...{ error_code: `ERR_TAS_${status}`, status_code: status, msg },
    details: { operation_id: expect.stringMatching(/^op_[0-9A-Za-z]{27}$/) },
  });

  it.each([
    ['a resource', 200, () => send('GET', single)],
    ['a list', 200, () => send('GET', '/ssh_credentials')],
    ['an unchanged resource', 304, () => send('GET', single, { ...AUTHORIZATION, 'if-none-match': '*' })],
    ['a malformed body', 400, () => send('POST', '/ssh_credentials', AUTHORIZATION, '{')],
    ['a request without a key', 401, () => send('GET', single, {})],
    ['an unknown id', 404, () => send('GET', UNKNOWN)],
    ['an unknown route', 404, () => send('GET', '/nope')],
    ['a malformed path', 400, () => send('GET', '/ssh_credentials/%zz')],
    ['OPTIONS', 204, () => send('OPTIONS', single, {})],
    [
      'another content type',
      415,
      () => send('POST', '/ssh_credentials', { ...AUTHORIZATION, 'content-type': 'text/plain' }, 'x'),
    ],
  ])('has the headers of a private API: %s', async (_, status, ask) => {
    const answer = await ask();
    expect(answer.status).toBe(status);
    expectStandardHeaders(answer.headers);
  });

  it('has them in a 500, which hides its cause', async () => {
    const broken = await startService();
    await broken.pool.query('alter table ssh_credentials rename to hidden');
    const errors = takeErrorLines();
    const answer = await call(broken.app.url, 'GET', '/ssh_credentials');
    expect(errors.end()).toEqual([expect.stringContaining('relation "ssh_credentials" does not exist')]);
    expect(answer.status).toBe(500);
    expect(JSON.parse(answer.bytes.toString())).toEqual(problem(500, 'Internal error.'));
    expectStandardHeaders(answer.headers);
    await broken.stop();
  });

  it.each([
    ['bytes that are not HTTP', 400, 'BLAH\r\n\r\n'],
    ['too large headers', 431, `GET / HTTP/1.1\r\nHost: x\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`],
  ])('has them, and the shape of errors, even without a request: %s', async (_, status, text) => {
    const answer = await sendRaw(service.app.url, [text]);
    const [head = '', body = ''] = answer.split('\r\n\r\n');
    expect(JSON.parse(body)).toEqual(problem(status));
    const [line = '', ...headers] = head.split('\r\n');
    expect(line).toContain(` ${status} `);
    expectStandardHeaders(Object.fromEntries(headers.map((header) => header.split(': '))));
  });

  it('promises TLS for a year if PUBLIC_URL is https, and only then', async () => {
    const behindTls = await startCopy(service, { publicUrl: 'https://api.example.test' });
    const { headers } = await call(behindTls.app.url, 'GET', '/nope', {});
    expect(headers['strict-transport-security']).toBe('max-age=31536000');
    await behindTls.stop();
  });
});

describe('a public route', () => {
  let bare: Awaited<ReturnType<typeof startBareServer>>;
  beforeAll(async () => {
    bare = await startBareServer();
  });
  afterAll(() => bare.nest.close());

  it('may be cached but must be revalidated, and its own policy wins', async () => {
    const { status, headers } = await call(bare.url, 'GET', '/page', {});
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      'cache-control': 'no-cache',
      'content-security-policy': OWN_POLICY,
      'x-content-type-options': 'nosniff',
    });
  });
});
