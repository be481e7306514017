import { request } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ApiClient } from './support/api-client.js';
import { type TakenLine, takeLines } from './support/error-lines.js';
import { EventStream } from './support/event-stream.js';
import { newPublicKey } from './support/keys.js';
import { sendRaw } from './support/raw-http.js';
import { ADMIN_KEY, GATEWAY, GATEWAY_TOKEN, type Service, startCopy, startService } from './support/service.js';

let usual: Service;
let talkative: Awaited<ReturnType<typeof startCopy>>;
let taken: ReturnType<typeof takeLines>;

beforeAll(async () => {
  usual = await startService({ ...GATEWAY, authFailuresPerMinute: 3 });
  talkative = await startCopy(usual, { ...GATEWAY, logRequests: 'all' });
  taken = takeLines();
});
afterAll(async () => {
  taken.end();
  await talkative.stop();
  await usual.stop();
});

/** The lines of one operation, when the first one is there. */
async function linesOf(operationId: string | null): Promise<TakenLine[]> {
  expect(operationId).toMatch(/^op_[0-9A-Za-z]{27}$/);
  const found = () => taken.lines().filter(({ fields }) => fields.operation_id === operationId);
  while (found().length === 0) await sleep(5);
  return found();
}

const operationOf = ({ headers }: { headers: Headers }): string | null => headers.get('ngrok-operation-id');

describe('a change', () => {
  it('has one line with its method, route, status, time, operation id, account and principal', async () => {
    const answer = await usual.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    const lines = await linesOf(operationOf(answer));
    expect(lines).toEqual([
      {
        level: 'info',
        fields: {
          method: 'POST',
          route: '/ssh_credentials',
          status: 201,
          ms: expect.any(Number),
          operation_id: operationOf(answer),
          account: expect.stringMatching(/^ac_/),
          principal: answer.body.owner_id,
          ip: '127.0.0.1',
        },
        message: 'POST /ssh_credentials 201',
      },
    ]);
    expect(lines[0]?.fields.ms).toBeGreaterThan(0);
  });

  it.each([
    ['PATCH', { description: 'new' }, 200],
    ['DELETE', undefined, 204],
  ] as const)('has a line with the route, not with the path: %s', async (method, body, status) => {
    const { body: made } = await usual.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    const answer = await usual.admin.json(method, `/ssh_credentials/${made.id}`, body);
    expect(answer.status).toBe(status);
    expect(await linesOf(operationOf(answer))).toMatchObject([
      { fields: { route: '/ssh_credentials/:id', method, status } },
    ]);
  });

  it('has a line too if its client went away before the answer', async () => {
    const blocker = await usual.pool.connect();
    await blocker.query('begin');
    await blocker.query('select from log_heads for update');
    const lines = () => taken.lines().filter(({ fields }) => fields.status === 201).length;
    const before = lines();
    const headers = { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' };
    const sent = request(`${usual.app.url}/ssh_credentials`, { method: 'POST', headers, agent: false });
    sent.on('error', () => undefined);
    sent.end(JSON.stringify({ public_key: newPublicKey() }));
    const isWaiting = `select from pg_stat_activity
      where wait_event_type = 'Lock' and datname = current_database() and query like '%log_heads%'`;
    while ((await usual.pool.query(isWaiting)).rowCount === 0) await sleep(5);
    sent.destroy();
    await blocker.query('commit');
    blocker.release();
    while (lines() === before) await sleep(5);
    expect(lines()).toBe(before + 1);
  });
});

describe('the operation id of an error is in the log', () => {
  const UNKNOWN = '/ssh_credentials/sshcr_2Sd3gVzXW1vzFJpCFLqzmEJ9SgA';

  it.each([
    ['an unknown id', (c: ApiClient) => c.get(UNKNOWN), 404, '/ssh_credentials/:id'],
    ['a bad value', (c: ApiClient) => c.get('/ssh_credentials?limit=x'), 400, '/ssh_credentials'],
    ['a bad body', (c: ApiClient) => c.send('POST', '/ssh_credentials', '{'), 400, '/ssh_credentials'],
    ['a body too large', (c: ApiClient) => c.post('/users', 'x'.repeat(3_000_000)), 413, '/users'],
    [
      'another content type',
      (c: ApiClient) => c.send('POST', '/users', 'x', { 'content-type': 'text/plain' }),
      415,
      '/users',
    ],
    [
      'a key without a right',
      (c: ApiClient) => c.post('/ssh_credentials', { owner_id: 'usr_x' }),
      400,
      '/ssh_credentials',
    ],
    ['no route', (c: ApiClient) => c.get('/no/such/path'), 404, undefined],
    ['a method that the path lacks', (c: ApiClient) => c.send('PUT', '/users', undefined), 404, undefined],
    ['a URL that cannot be decoded', (c: ApiClient) => c.get('/users/%zz'), 400, undefined],
  ])('%s', async (_, call, status, route) => {
    const answer = await call(usual.admin);
    expect(answer.status).toBe(status);
    expect(answer.body.details.operation_id).toBe(operationOf(answer));
    const lines = await linesOf(operationOf(answer));
    expect(lines).toMatchObject([{ level: 'warn', fields: { status, error_code: answer.body.error_code } }]);
    expect(lines[0]?.fields.route).toBe(route);
  });

  it('a wrong key, and the limit of failures', async () => {
    for (const status of [401, 401, 401, 429]) {
      const answer = await usual.admin.as('a-wrong-key').get('/users');
      expect(answer.status).toBe(status);
      const [line] = await linesOf(operationOf(answer));
      expect(line?.fields).toMatchObject({ status, ip: '127.0.0.1', error_code: answer.body.error_code });
      expect(line?.fields.account).toBe(undefined);
    }
  });

  it.each([
    ['bytes that are no HTTP', 'no HTTP at all\r\n\r\n', 400],
    ['headers that are too large', `GET / HTTP/1.1\r\nHost: x\r\nX-Long: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['CONNECT', 'CONNECT example.com:443 HTTP/1.1\r\nHost: example.com\r\n\r\n', 501],
    ['two hosts', 'GET /users HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n', 400],
    [
      'a body that breaks off the form',
      'POST /users HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n',
      400,
    ],
    ['an expectation', 'GET /users HTTP/1.1\r\nHost: x\r\nExpect: more\r\n\r\n', 417],
  ])('%s', async (_, bytes, status) => {
    const answer = await sendRaw(usual.app.url, [bytes]);
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
    const [, operation = null] = /"operation_id":"(op_\w+)"/.exec(answer) ?? [];
    expect(await linesOf(operation)).toMatchObject([{ level: 'warn', fields: { status, ip: '127.0.0.1' } }]);
  });

  it('an internal error, with its cause', async () => {
    await usual.pool.query('alter table ssh_credentials add constraint odd check (length(description) <> 13)');
    const body = { public_key: newPublicKey(), description: 'an odd length' };
    const answer = await usual.admin.post('/ssh_credentials', body);
    await usual.pool.query('alter table ssh_credentials drop constraint odd');
    expect(answer.status).toBe(500);
    const fields = { status: 500, error_code: 'ERR_TAS_500', err: expect.any(Error) };
    expect(await linesOf(operationOf(answer))).toMatchObject([{ level: 'error', fields }]);
  });
});

describe('a request that succeeds and changes nothing', () => {
  const harmless = async (url: string): Promise<(string | null)[]> => {
    const admin = new ApiClient(url, ADMIN_KEY);
    const public_key = newPublicKey();
    await usual.admin.post('/ssh_credentials', { public_key });
    const answers = [
      await admin.get('/ssh_credentials?limit=1'),
      await admin.send('HEAD', '/ssh_credentials', undefined),
      await admin.send('OPTIONS', '/ssh_credentials', undefined),
      await admin.get('/livez'),
      await admin.as(GATEWAY_TOKEN).post('/ssh_gateway/identify', { public_key }),
    ];
    const stream = await EventStream.open(`${url}/events`, ADMIN_KEY);
    stream.close();
    expect(answers.map(({ status }) => status)).toEqual([200, 200, 204, 200, 200]);
    return [...answers.map(operationOf), String(stream.response.headers['ngrok-operation-id'])];
  };

  it('has no line', async () => {
    const operations = await harmless(usual.app.url);
    const { headers } = await usual.admin.get('/no/such/path');
    await linesOf(headers.get('ngrok-operation-id'));
    expect(taken.lines().filter(({ fields }) => operations.includes(String(fields.operation_id)))).toEqual([]);
  });

  it('has a line with LOG_REQUESTS=all', async () => {
    for (const operation of await harmless(talkative.app.url)) {
      expect(await linesOf(operation)).toMatchObject([{ level: 'info', fields: { ms: expect.any(Number) } }]);
    }
  });
});
