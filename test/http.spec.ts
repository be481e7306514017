import dns from 'node:dns';
import { connect } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { withDatabaseThatGoes } from './support/answer-swallowing-proxy.js';
import { ApiClient } from './support/api-client.js';
import { rowsOf } from './support/backups.js';
import { newPublicKey } from './support/keys.js';
import { AUTHORIZATION, sendRaw, stall } from './support/raw-http.js';
import { ADMIN_KEY, type Service, startCopy, startService } from './support/service.js';

let service: Service;
beforeAll(async () => {
  service = await startService();
});
afterAll(() => service.stop());

const eventCount = async (): Promise<number> => {
  const { rows } = await service.pool.query('select count(*)::int as n from events');
  return rows[0].n;
};

const problem = (status: number, code: string, msg: RegExp = /./) => ({
  error_code: code,
  status_code: status,
  msg: expect.stringMatching(msg),
  details: { operation_id: expect.stringMatching(/^op_[0-9A-Za-z]{27}$/) },
});

const send = (text: string): Promise<string> => sendRaw(service.app.url, [text]);

describe('every failure has the error shape', () => {
  it.each([
    ['an unknown route', 'GET', '/nope', 404, 'ERR_TAS_404'],
    ['an unknown method', 'PUT', '/ssh_credentials', 404, 'ERR_TAS_404'],
    ['a malformed path', 'GET', '/ssh_credentials/%zz', 400, 'ERR_TAS_400'],
  ])('%s', async (_, method, path, status, code) => {
    const answer = await service.admin.send(method, path, undefined);
    expect(answer).toMatchObject({ status, body: problem(status, code) });
    expect(answer.headers.get('ngrok-operation-id')).toBe(answer.body.details.operation_id);
    expect(answer.headers.get('content-type')).toBe('application/json; charset=utf-8');
  });

  it('but for the root, which leads to the documentation', async () => {
    const answer = await fetch(`${service.app.url}/`, { redirect: 'manual' });
    expect([answer.status, answer.headers.get('location')]).toEqual([302, `${service.app.url}/docs`]);
  });
});

describe('an invalid body is a 4xx and stores no event', () => {
  const key = newPublicKey();
  it.each([
    ['not JSON', '{"public_key":', 400, 'ERR_NGROK_213'],
    ['an empty body', '', 400, 'ERR_NGROK_213'],
    ['a list', '[]', 400, 'ERR_NGROK_213'],
    ['null', 'null', 400, 'ERR_NGROK_213'],
    ['deep JSON', `{"metadata":${'['.repeat(500_000)}`, 400, 'ERR_NGROK_213'],
    ['__proto__', `{"public_key":"${key}","__proto__":{"description":"x"}}`, 400, 'ERR_NGROK_214'],
    ['constructor', `{"public_key":"${key}","constructor":"x"}`, 400, 'ERR_NGROK_214'],
  ])('%s', async (_, body, status, code) => {
    const before = await eventCount();
    const answer = await service.admin.send('POST', '/ssh_credentials', body, { 'content-type': 'application/json' });
    expect(answer).toMatchObject({ status, body: problem(status, code) });
    expect(await eventCount()).toBe(before);
  });

  it('10 MB', async () => {
    const before = await eventCount();
    const { hostname, port } = new URL(service.app.url);
    // This client reads while it sends. A client that sends everything first would get a connection reset.
    const answer = await new Promise<string>((resolve, reject) => {
      let text = '';
      const socket = connect(Number(port), hostname);
      socket.on('data', (data) => {
        text += data;
        if (text.includes('\r\n\r\n{')) resolve(text);
      });
      socket.on('error', (error) => (text === '' ? reject(error) : resolve(text)));
      socket.write(
        `POST /ssh_credentials HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${ADMIN_KEY}\r\n` +
          'Content-Type: application/json\r\nContent-Length: 10000000\r\n\r\n',
      );
      socket.write('x'.repeat(100_000));
    });
    expect(answer).toMatch(/^HTTP\/1.1 413 /);
    expect(JSON.parse(answer.slice(answer.indexOf('\r\n\r\n')))).toEqual(problem(413, 'ERR_NGROK_212', /2 MiB/));
    expect(await eventCount()).toBe(before);
  });

  it('10 MB sent in chunks without a length', async () => {
    const before = await eventCount();
    const stream = new ReadableStream({
      start(controller) {
        for (let n = 0; n < 100; n += 1) controller.enqueue(new Uint8Array(100_000).fill(32));
        controller.close();
      },
    });
    const sent = fetch(`${service.app.url}/ssh_credentials`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ADMIN_KEY}`, 'content-type': 'application/json' },
      body: stream,
      duplex: 'half',
    } as RequestInit);
    // The service closes the connection during the upload; the client may notice before it reads the answer.
    const outcome = await sent.then(
      ({ status }) => status,
      () => 'cut off',
    );
    expect([413, 'cut off']).toContain(outcome);
    expect(await eventCount()).toBe(before);
  });
});

describe('transport', () => {
  it('listens at one address of HOST, so that no server is beside the one whose connections are watched', async () => {
    // Stands in for the resolver: on many machines this name has both addresses.
    const both = [
      { address: '127.0.0.1', family: 4 },
      { address: '::1', family: 6 },
    ];
    const real = dns.lookup as (...args: unknown[]) => void;
    const resolve = (name: string, ...rest: unknown[]): void =>
      name === 'localhost' ? (rest.at(-1) as (...answer: unknown[]) => void)(null, both) : real(name, ...rest);
    const lookup = jest.spyOn(dns, 'lookup').mockImplementation(resolve as never);
    const local = await startCopy(service, { host: 'localhost' });
    const addresses = local.app.nest.getHttpAdapter().getInstance().addresses();
    lookup.mockRestore();
    expect(addresses).toHaveLength(1);
    await local.stop();
  });

  it('reads a body without a content type as JSON and refuses other types with 415', async () => {
    const body = JSON.stringify({ public_key: newPublicKey() });
    const post = (headers: Record<string, string>) =>
      service.admin.send('POST', '/ssh_credentials', Buffer.from(body), headers);
    expect((await post({})).status).toBe(201);
    expect((await post({ 'content-type': 'application/json; charset=utf-8' })).status).toBe(201);
    for (const type of ['text/plain', 'application/x-www-form-urlencoded', 'application/xml']) {
      expect(await post({ 'content-type': type })).toMatchObject({ status: 415, body: problem(415, 'ERR_NGROK_210') });
    }
  });

  it.each(['application/json; charset=latin1', 'application/json;charset="utf-16"'])(
    'refuses a body in another charset than UTF-8 with 415: %s',
    async (type) => {
      const send = (contentType: string) =>
        service.admin.send('POST', '/ssh_credentials', JSON.stringify({ public_key: newPublicKey() }), {
          'content-type': contentType,
        });
      expect(await send(type)).toMatchObject({ status: 415, body: problem(415, 'ERR_NGROK_210', /in UTF-8/) });
      expect((await send('application/json; charset=UTF-8')).status).toBe(201);
    },
  );

  it.each(['gzip', 'GZIP', 'deflate', 'br', 'gzip, identity'])(
    'refuses a body in Content-Encoding %s with 415',
    async (coding) => {
      const { body } = await service.admin.post('/ip_policies', {});
      const change = gzipSync(JSON.stringify({ description: 'x' }));
      const headers = { 'content-type': 'application/json', 'content-encoding': coding };
      const answer = await service.admin.send('PATCH', `/ip_policies/${body.id}`, change, headers);
      expect(answer).toMatchObject({ status: 415, body: problem(415, 'ERR_NGROK_210', /compressed.*plain JSON/) });
      expect(answer.headers.get('accept-encoding')).toBe('identity');
      const plain = { ...headers, 'content-encoding': 'identity' };
      const sent = await service.admin.send('PATCH', `/ip_policies/${body.id}`, '{"description":"x"}', plain);
      expect(sent.body.description).toBe('x');
      expect((await service.admin.get(`/ip_policies/${body.id}`, { 'content-encoding': coding })).status).toBe(200);
    },
  );

  it('takes a JSON content type without a body on GET and DELETE', async () => {
    const { body } = await service.admin.post('/ssh_credentials', { public_key: newPublicKey() });
    const headers = { 'content-type': 'application/json', 'ngrok-version': '2' };
    expect((await service.admin.get(`/ssh_credentials/${body.id}`, headers)).status).toBe(200);
    expect((await service.admin.delete(`/ssh_credentials/${body.id}`, headers)).status).toBe(204);
  });

  it('collapses duplicate slashes in the path', async () => {
    expect((await service.admin.get('//ssh_credentials')).status).toBe(200);
    expect((await service.admin.get('///ssh_credentials//')).status).toBe(200);
  });

  it('gives every answer its own operation id', async () => {
    const answers = await Promise.all(Array.from({ length: 20 }, () => service.admin.get('/ssh_credentials')));
    const ids = answers.map((a) => a.headers.get('ngrok-operation-id'));
    expect(new Set(ids).size).toBe(20);
    for (const id of ids) expect(id).toMatch(/^op_[0-9A-Za-z]{27}$/);
  });

  it('makes URIs with the host of the request, or with PUBLIC_URL if it is set', async () => {
    const named = await send(
      `GET /ssh_credentials HTTP/1.1\r\nHost: api.example.test:81\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n\r\n`,
    );
    expect(named).toContain('"uri":"http://api.example.test:81/ssh_credentials"');
    const odd = await send(
      `GET /ssh_credentials HTTP/1.1\r\nHost: "><script>\r\nAuthorization: Bearer ${ADMIN_KEY}\r\nConnection: close\r\n\r\n`,
    );
    expect(odd).toContain(`"uri":"${service.app.url}/ssh_credentials"`);
    const behindProxy = await startCopy(service, { publicUrl: 'https://api.example.test/tunnels' });
    const { body } = await behindProxy.admin.get('/ssh_credentials');
    expect(body.uri).toBe('https://api.example.test/tunnels/ssh_credentials');
    await behindProxy.stop();
  });
});

describe('authentication', () => {
  const authorized = (authorization?: string) =>
    new ApiClient(service.app.url, undefined).get(
      '/ssh_credentials',
      authorization === undefined ? {} : { authorization },
    );

  it.each([
    ['no header', undefined, 'ERR_NGROK_200'],
    ['an empty header', ' ', 'ERR_NGROK_200'],
    ['another scheme', `Basic ${ADMIN_KEY}`, 'ERR_NGROK_201'],
    ['the key alone', ADMIN_KEY, 'ERR_NGROK_201'],
    ['no key', 'Bearer', 'ERR_NGROK_202'],
    ['two keys', `Bearer ${ADMIN_KEY} ${ADMIN_KEY}`, 'ERR_NGROK_202'],
    ['a key too long', `Bearer ${'x'.repeat(256)}`, 'ERR_NGROK_202'],
    ['an unknown key', `Bearer ${ADMIN_KEY}x`, 'ERR_NGROK_203'],
  ])('answers 401 to %s, without an echo of it', async (_, header, code) => {
    const answer = await authorized(header);
    expect(answer).toMatchObject({ status: 401, body: problem(401, code) });
    expect(answer.headers.get('www-authenticate')).toBe('Bearer');
    expect(JSON.stringify(answer.body)).not.toContain(ADMIN_KEY);
  });

  it('says that a key is empty, as a variable that is not set leaves it', async () => {
    for (const header of ['Bearer', 'Bearer ', 'bearer   ']) {
      expect((await authorized(header)).body.msg).toBe('The API key is empty: the header ends after "Bearer".');
    }
  });

  it('accepts the scheme in any case', async () => {
    expect((await authorized(`bearer  ${ADMIN_KEY}`)).status).toBe(200);
  });

  it('comes before the body is read: without a key a malformed body is 401, not 400', async () => {
    const withoutKey = new ApiClient(service.app.url, undefined);
    expect((await withoutKey.send('POST', '/ssh_credentials', '{')).status).toBe(401);
  });

  it('stores the key only as a hash', async () => {
    expect((await rowsOf(service.databaseUrl)).join('\n')).not.toContain(ADMIN_KEY);
  });
});

describe('a field name', () => {
  it('that may be a misplaced secret is not echoed', async () => {
    const secret = '-----BEGIN OPENSSH PRIVATE KEY-----SECRETSECRET';
    for (const body of [`{"${secret}":1}`, `{"${secret}":"\\u0000"}`, `{"description":{"${secret}":"\\ud800"}}`]) {
      const answer = await service.admin.send('POST', '/ssh_credentials', body, { 'content-type': 'application/json' });
      expect(answer.status).toBe(400);
      expect(JSON.stringify(answer.body)).not.toContain('SECRET');
    }
  });
});

describe('while the database is away', () => {
  it('every call answers 503 with Retry-After, and works again afterwards', () =>
    withDatabaseThatGoes(
      async (app, proxy) => {
        const client = new ApiClient(app.url, ADMIN_KEY);
        expect((await client.get('/ssh_credentials')).status).toBe(200);
        proxy.goAway();
        for (const call of [
          () => client.get('/ssh_credentials'),
          () => client.post('/ssh_credentials', { public_key: newPublicKey() }),
        ]) {
          const answer = await call();
          expect(answer).toMatchObject({ status: 503, body: problem(503, 'ERR_TAS_503', /database does not answer/) });
          expect(answer.headers.get('retry-after')).toBe('1');
        }
        proxy.comeBack();
        expect((await client.post('/ssh_credentials', { public_key: newPublicKey() })).status).toBe(201);
      },
      { writeDeadlineMs: 1000 },
    ));
});

describe('a change that arrives while the database is away', () => {
  it('is written when the database is back before the deadline', () =>
    withDatabaseThatGoes(async (app, proxy) => {
      const client = new ApiClient(app.url, ADMIN_KEY);
      proxy.goAway();
      expect((await client.get('/ssh_credentials')).status).toBe(503);
      const change = client.post('/ssh_credentials', { public_key: newPublicKey() });
      setTimeout(() => proxy.comeBack(), 1000);
      expect((await change).status).toBe(201);
    }));
});

describe('a change whose database goes away after its caller was authenticated', () => {
  it('waits with its look-ups, and is written when the database is back', () =>
    withDatabaseThatGoes(async (app, proxy) => {
      const { body: edge } = await new ApiClient(app.url, ADMIN_KEY).post('/edges/tcp', {});
      const headers = { ...AUTHORIZATION, expect: '100-continue' };
      const change = stall(app.url, 'PATCH', `/edges/tcp/${edge.id}`, headers, '{"description":"new"}');
      await change.isAwaited();
      proxy.goAway();
      setTimeout(() => proxy.comeBack(), 1000);
      const { status, bytes } = await change.finish();
      expect([status, JSON.parse(bytes.toString()).description]).toEqual([200, 'new']);
    }));
});

describe('a change whose database goes away again', () => {
  it('waits until one deadline for its authentication and its append together', () =>
    withDatabaseThatGoes(
      async (app, proxy) => {
        proxy.goAway();
        const from = performance.now();
        const headers = { ...AUTHORIZATION, expect: '100-continue' };
        const body = JSON.stringify({ public_key: newPublicKey() });
        const change = stall(app.url, 'POST', '/ssh_credentials', headers, body);
        setTimeout(() => proxy.comeBack(), 1800);
        await change.isAwaited();
        proxy.goAway();
        expect((await change.finish()).status).toBe(503);
        expect(performance.now() - from).toBeLessThan(4200);
      },
      { writeDeadlineMs: 3000 },
    ));
});

describe('when the queue of changes is full', () => {
  it('further changes answer 503 with Retry-After, and the queued ones are written', async () => {
    const small = await startService({ appendQueueLimit: 4 });
    const { rows } = await small.pool.query('select account_id from accounts');
    const holder = await small.pool.connect();
    await holder.query('begin');
    await holder.query('select 1 from log_heads where account_id = $1 for update', [rows[0].account_id]);
    const posts = Array.from({ length: 12 }, async () => {
      const answer = await small.admin.post('/ssh_credentials', { public_key: newPublicKey() });
      return answer;
    });
    const refused = await Promise.any(posts);
    expect(refused).toMatchObject({ status: 503, body: problem(503, 'ERR_TAS_503') });
    expect(refused.headers.get('retry-after')).toBe('1');
    await holder.query('commit');
    holder.release();
    const statuses = (await Promise.all(posts)).map((a) => a.status);
    const written = statuses.filter((s) => s === 201).length;
    expect(written).toBeGreaterThanOrEqual(4);
    expect(written + statuses.filter((s) => s === 503).length).toBe(12);
    const { rows: extent } = await small.pool.query('select count(*)::int as n from ssh_credentials');
    expect(extent[0].n).toBe(written);
    await small.stop();
  });
});
