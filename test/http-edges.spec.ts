import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startBareServer } from './support/bare-server.js';
import { newPublicKey } from './support/keys.js';
import { type Conversation, converse, type ParsedAnswer, parseAnswers, sendRaw } from './support/raw-http.js';
import { ADMIN_KEY, type Service, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const AUTH = `Host: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n`;
const get = (headers = AUTH, version = '1.1') => `GET /ssh_credentials?limit=1 HTTP/${version}\r\n${headers}\r\n`;

function post(headers = AUTH, body = JSON.stringify({ public_key: newPublicKey() })): string {
  const length = `Content-Type: application/json\r\nContent-Length: ${body.length}\r\n`;
  return `POST /ssh_credentials HTTP/1.1\r\n${headers}${length}\r\n${body}`;
}

const send = async (...pieces: string[]): Promise<ParsedAnswer[]> =>
  parseAnswers(await sendRaw(service.app.url, pieces, 5));

const statusesOf = (answers: readonly ParsedAnswer[]): number[] => answers.map(({ status }) => status);

const storedCredentials = async (): Promise<number> => {
  const { rows } = await service.pool.query('select count(*)::int as n from ssh_credentials');
  return rows[0].n;
};

/** Asserts the shape and the headers that every refusal has. */
function expectRefusal(answer: ParsedAnswer | undefined, status: number, code: string, msg: RegExp = /./): void {
  const { headers, body } = answer ?? { headers: {}, body: '{}' };
  const problem = JSON.parse(body);
  expect(problem).toEqual({
    error_code: code,
    status_code: status,
    msg: expect.stringMatching(msg),
    details: { operation_id: expect.stringMatching(/^op_[0-9A-Za-z]{27}$/) },
  });
  expect(answer?.status).toBe(status);
  expect(headers).toMatchObject({
    'ngrok-operation-id': problem.details.operation_id,
    'content-type': 'application/json; charset=utf-8',
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
    date: expect.stringMatching(/ GMT$/),
    connection: 'close',
  });
}

describe('garbage after pipelined requests', () => {
  it('is answered last: every change that was stored is answered 201 before', async () => {
    const before = await storedCredentials();
    const answers = await send(`${post().concat(post(), post(), post(), post())}BLAH\r\n\r\n`);
    expect(statusesOf(answers)).toEqual([201, 201, 201, 201, 201, 400]);
    expect(await storedCredentials()).toBe(before + 5);
    expectRefusal(answers.at(-1), 400, 'ERR_TAS_400');
    const ids = answers.slice(0, 5).map(({ body }) => JSON.parse(body).id);
    expect(new Set(ids).size).toBe(5);
  });

  it('is answered once, even if more garbage follows while the answers are made', async () => {
    const answers = await send(`${post()}${get()}BLAH\r\n\r\n`, 'BLAH\r\n\r\n', get(), 'x'.repeat(100_000));
    expect(statusesOf(answers)).toEqual([201, 200, 400]);
  });

  it.each([
    ['headers that are too large', `GET / HTTP/1.1\r\nX-Large: ${'x'.repeat(20_000)}\r\n\r\n`, 431, 'ERR_TAS_431'],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 501, 'ERR_TAS_501'],
    ['a version that is not served', get(AUTH, '3.0'), 505, 'ERR_TAS_505'],
  ])('may be %s', async (_, text, status, code) => {
    const answers = await send(post() + get() + text);
    expect(statusesOf(answers)).toEqual([201, 200, status]);
    expectRefusal(answers.at(-1), status, code);
  });

  it('in the body of a request is the answer to that request, after the earlier ones', async () => {
    const chunked = `POST /ssh_credentials HTTP/1.1\r\n${AUTH}Transfer-Encoding: chunked\r\n\r\n`;
    const answers = await send(`${post()}${get()}${chunked}zz\r\n`);
    expect(statusesOf(answers)).toEqual([201, 200, 400]);
    expectRefusal(answers.at(-1), 400, 'ERR_TAS_400');
  });

  it('in the body of a request that was answered already gets no second answer', async () => {
    const chunked = 'POST /ssh_credentials HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n';
    const client = await converse(service.app.url);
    client.send(chunked);
    await client.hears(/HTTP\/1.1 401 .*\}\}$/s);
    client.send('zz\r\n');
    await client.closed();
    expect(statusesOf(parseAnswers(client.received()))).toEqual([401]);
  });

  it('after `Connection: close` is ignored', async () => {
    expect(statusesOf(await send(`${post(`${AUTH}Connection: close\r\n`)}BLAH\r\n\r\n`))).toEqual([201]);
  });
});

it.each(['/console', '/docs', '/openapi.json'])('GET %s answers a Host that is none, such as a:99999', async (path) => {
  for (const host of ['a:99999', '999.1.1.1', '[::x]']) {
    const [answer] = await send(`GET ${path} HTTP/1.1\r\nHost: ${host}\r\nConnection: close\r\n\r\n`);
    expect([host, answer?.status]).toEqual([host, 200]);
  }
});

describe('a request that HTTP/1.1 or the service does not allow is refused in the shape of an error:', () => {
  it.each([
    ['two Hosts', get(`${AUTH}Host: y\r\n`), 400, 'ERR_TAS_400', /has 2 Host headers/],
    ['no Host', get(AUTH.replace('Host: x\r\n', '')), 400, 'ERR_TAS_400', /has 0 Host headers/],
    ['HTTP/2.0', get(AUTH, '2.0'), 505, 'ERR_TAS_505', /HTTP\/1\.1/],
    ['HTTP/0.9', get(AUTH, '0.9'), 505, 'ERR_TAS_505', /HTTP\/1\.1/],
    ['another expectation', post(`${AUTH}Expect: 200-ok\r\n`), 417, 'ERR_TAS_417', /100-continue/],
    ['CONNECT', `CONNECT x:443 HTTP/1.1\r\n${AUTH}\r\n`, 501, 'ERR_TAS_501', /CONNECT/],
    ['CONNECT without a key', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n', 501, 'ERR_TAS_501', /CONNECT/],
  ])('%s', async (_, text, status, code, msg) => {
    const before = await storedCredentials();
    const [answer, ...others] = await send(text);
    expectRefusal(answer, status, code, msg);
    expect(others).toEqual([]);
    expect(await storedCredentials()).toBe(before);
  });

  const body = JSON.stringify({ public_key: newPublicKey() });
  const chunks = `${body.length.toString(16)}\r\n${body}\r\n0\r\n\r\n`;
  it.each([
    ['gzip, chunked', 501, 'ERR_TAS_501'],
    ['gzip', 501, 'ERR_TAS_501'],
    // The parser refuses it: without chunked at the end, the length of the body is unknown.
    ['chunked, gzip', 400, 'ERR_TAS_400'],
  ])('Transfer-Encoding: %s', async (coding, status, code) => {
    const before = await storedCredentials();
    const head = `POST /ssh_credentials HTTP/1.1\r\n${AUTH}Transfer-Encoding: ${coding}\r\n\r\n`;
    const [answer] = await send(head + chunks);
    expectRefusal(answer, status, code);
    expect(await storedCredentials()).toBe(before);
  });

  it('but `Transfer-Encoding: Chunked` and HTTP/1.0 without a Host are served', async () => {
    const head = `POST /ssh_credentials HTTP/1.1\r\n${AUTH}Connection: close\r\nTransfer-Encoding: Chunked\r\n\r\n`;
    expect(statusesOf(await send(head + chunks))).toEqual([201]);
    expect(statusesOf(await send(get(AUTH.replace('Host: x\r\n', ''), '1.0')))).toEqual([200]);
  });
});

describe('a client that resets its connection after CONNECT', () => {
  it('does not end the service', async () => {
    for (let n = 0; n < 20; n += 1) {
      const client = await converse(service.app.url);
      client.send(`${get()}CONNECT x:443 HTTP/1.1\r\n${AUTH}\r\n`);
      client.reset();
    }
    expect((await service.admin.get('/ssh_credentials')).status).toBe(200);
  });
});

describe('Expect: 100-continue', () => {
  const body = JSON.stringify({ public_key: newPublicKey() });
  const headOf = (headers: string, length = body.length) =>
    `POST /ssh_credentials HTTP/1.1\r\n${headers}Expect: 100-continue\r\nContent-Type: application/json\r\n` +
    `Content-Length: ${length}\r\n\r\n`;
  const unknownKey = AUTH.replace(ADMIN_KEY, 'not-a-key-of-anyone');

  async function answersTo(conversation: (client: Conversation) => Promise<void>): Promise<number[]> {
    const client = await converse(service.app.url);
    await conversation(client);
    await client.closed();
    return statusesOf(parseAnswers(client.received()));
  }

  it('with a valid key is 100, and the answer when the body is there', async () => {
    const client = await converse(service.app.url);
    client.send(headOf(AUTH));
    await client.hears(/^HTTP\/1\.1 100 Continue\r\n\r\n$/);
    client.send(body);
    await client.hears(/HTTP\/1\.1 201 .*\}$/s);
    // The connection goes on.
    client.send(get());
    await client.hears(/HTTP\/1\.1 200 .*\}$/s);
    client.reset();
    expect(statusesOf(parseAnswers(client.received()))).toEqual([100, 201, 200]);
  });

  it('whose body does not wait for 100 is stored as well', async () => {
    const answer = `HTTP/1.1 201`;
    const client = await converse(service.app.url);
    client.send(headOf(AUTH) + body);
    await client.hears(new RegExp(answer));
    client.reset();
  });

  it.each([
    ['no key', 'Host: x\r\n'],
    ['an unknown key', unknownKey],
  ])('with %s is 401 at once and the end of the connection, whether the body is sent or not', async (_, headers) => {
    const before = await storedCredentials();
    expect(await answersTo(async (client) => client.send(headOf(headers)))).toEqual([401]);
    expect(await answersTo(async (client) => client.send(headOf(headers) + body))).toEqual([401]);
    const late = async (client: Conversation) => {
      client.send(headOf(headers));
      await client.hears(/HTTP\/1\.1 401 /);
      client.send(body + get());
    };
    expect(await answersTo(late)).toEqual([401]);
    expect(await storedCredentials()).toBe(before);
  });

  it.each([
    ['a body that is too large', 413, headOf(AUTH, 10_000_000)],
    ['an unknown route', 404, headOf(AUTH).replace('/ssh_credentials', '/nope')],
  ])('of %s is %i without 100', async (_, status, head) => {
    expect(await answersTo(async (client) => client.send(head))).toEqual([status]);
  });

  it('after pipelined requests keeps the order of the answers', async () => {
    const client = await converse(service.app.url);
    client.send(post() + get() + headOf(AUTH));
    await client.hears(/ 100 Continue\r\n\r\n$/);
    client.send(body);
    await client.hears(/ 100 Continue\r\n\r\nHTTP\/1\.1 201 .*\}$/s);
    client.reset();
    expect(statusesOf(parseAnswers(client.received()))).toEqual([201, 200, 100, 201]);
  });
});

describe('a connection', () => {
  const SHORT = { keepAliveMs: 300, headersMs: 300, requestMs: 500, checkEveryMs: 30 };
  let bare: Awaited<ReturnType<typeof startBareServer>>;
  beforeAll(async () => {
    bare = await startBareServer(SHORT);
  });
  afterAll(() => bare.nest.close());

  it('whose newest body is slow gets 408 after the answers to its earlier requests', async () => {
    const one = 'POST /taken HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n\r\n';
    const slow = one.replace('Content-Length: 0', 'Content-Length: 9');
    expect(statusesOf(parseAnswers(await sendRaw(bare.url, [one + one + slow])))).toEqual([200, 200, 408]);
  });

  it.each(['BLAH\r\n\r\n', 'CONNECT x:443 HTTP/1.1\r\nHost: x\r\n\r\n'])(
    'that the client keeps open after its refusal is cut off: %j',
    async (text) => {
      const client = await converse(bare.url, { allowHalfOpen: true });
      client.send(text);
      await client.hears(/HTTP\/1\.1 [45]0[01] .*\}\}$/s);
      const server = bare.nest.getHttpServer();
      const open = () => new Promise<number>((resolve) => server.getConnections((_: unknown, n: number) => resolve(n)));
      for (let n = 0; n < 200 && (await open()) > 0; n += 1) await new Promise((resolve) => setTimeout(resolve, 20));
      expect(await open()).toBe(0);
      client.reset();
    },
  );
});
