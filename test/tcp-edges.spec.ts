import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
let member: TestPrincipal;

beforeAll(async () => {
  service = await startService();
  admin = service.admin;
  member = await addUser(service, 'member');
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

const create = async (body: object = {}, client: ApiClient = admin) => {
  const answer = await client.post('/edges/tcp', body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
};

const eventsOf = async (id: string) => {
  const { rows } = await service.pool.query(
    'select type, data from events where stream_id = $1 order by stream_version',
    [id],
  );
  return rows.map(({ type, data }) => ({ type, data: JSON.parse(data) }));
};

const UNKNOWN_ID = 'edgtcp_3MPflUxi65UVJUZK1y0iEJKUOhV';

const WHOLE = {
  description: 'database – ünï',
  metadata: '{"a":1}',
  hostports: ['1.tcp.example.com:20000', 'TCP.Example.com.:443', '[2001:DB8::1]:22', '10.0.0.1:1', 'my_host:65535'],
  backend: { backend_id: 'bkdtg_1' },
  ip_restriction: { enabled: false, ip_policy_ids: ['ipp_1', 'my-policy', 'ipp_1'] },
  traffic_policy: { enabled: true, value: '{"on_tcp_connect": [ ]}\r\n\t "é😀\u2028' },
};

describe('POST /edges/tcp', () => {
  it('answers 201 with every field: hostports and policy as sent, backend and IP policies as references', async () => {
    const { status, body, headers } = await admin.post('/edges/tcp', WHOLE);
    expect(status).toBe(201);
    expect(headers.get('log-position')).toMatch(/^\d+$/);
    const { url } = service.app;
    expect(body).toEqual({
      ...WHOLE,
      id: expect.stringMatching(/^edgtcp_[0-9A-Za-z]{27}$/),
      uri: `${url}/edges/tcp/${body.id}`,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      backend: { enabled: true, backend: { id: 'bkdtg_1', uri: `${url}/backends/tunnel_group/bkdtg_1` } },
      ip_restriction: {
        enabled: false,
        ip_policies: ['ipp_1', 'my-policy', 'ipp_1'].map((id) => ({ id, uri: `${url}/ip_policies/${id}` })),
      },
    });
  });

  it.each([
    ['bkdtg_1', 'backends/tunnel_group/bkdtg_1'],
    ['bkdfo_1', 'backends/failover/bkdfo_1'],
    ['bkdwd_1', 'backends/weighted/bkdwd_1'],
    ['bkdhr_1', 'backends/http_response/bkdhr_1'],
    ['bkdsc_1', 'backends/static/bkdsc_1'],
    ['my-own', 'backends/my-own'],
    ['constructor_1', 'backends/constructor_1'],
  ])('refers to backend %s as %s', async (id, path) => {
    const { backend } = await create({ backend: { backend_id: id } });
    expect(backend).toEqual({ enabled: true, backend: { id, uri: `${service.app.url}/${path}` } });
  });

  it('fills absent fields with "", [] and null; null counts as absent at every level', async () => {
    const bare = {
      description: '',
      metadata: '',
      hostports: [],
      backend: null,
      ip_restriction: null,
      traffic_policy: null,
    };
    expect(await create()).toMatchObject(bare);
    expect(await create({ ...bare, description: null, metadata: null, hostports: null })).toMatchObject(bare);
    const modules = {
      backend: { enabled: null, backend_id: 'b' },
      ip_restriction: { ip_policy_ids: null },
      traffic_policy: { enabled: null, value: '' },
    };
    expect(await create(modules)).toMatchObject({
      backend: { enabled: true },
      ip_restriction: { enabled: true, ip_policies: [] },
      traffic_policy: { enabled: true, value: '' },
    });
  });

  it('counts bytes: 255, 4096 and 262144 are accepted, one more is refused with the length', async () => {
    const description = `${'é'.repeat(127)}x`;
    const metadata = '😀'.repeat(1024);
    const value = '"'.repeat(2).concat('é'.repeat(131_071));
    const fits = { description, metadata, traffic_policy: { value } };
    expect(await create(fits)).toMatchObject(fits);
    const post = (body: object) => () => admin.post('/edges/tcp', body);
    const long = (field: string, bytes: number) =>
      new RegExp(`^${field} is ${bytes + 1} bytes long; the maximum is ${bytes}`);
    await expectRefusal(post({ description: `${description}x` }), 400, 'ERR_NGROK_7073', long('description', 255));
    await expectRefusal(post({ metadata: `${metadata}x` }), 400, 'ERR_NGROK_7074', long('metadata', 4096));
    const policy = { traffic_policy: { value: `${value}x` } };
    await expectRefusal(post(policy), 400, 'ERR_TAS_400', long('traffic_policy.value', 262_144));
  });

  it.each<[string, object, string, RegExp]>([
    ['a text for a module', { backend: 'bkdtg_1' }, '215', /^backend must be an object, not a string/],
    [
      'a text for a flag',
      { backend: { enabled: 'true', backend_id: 'b' } },
      '215',
      /^backend\.enabled must be a boolean, not a string/,
    ],
    [
      'an unknown field',
      { hostport: null },
      '214',
      /'hostport' is not a field.*backend, created_at, description, expires_at, hostports, id, ip_restriction, metadata, traffic_policy, uri/,
    ],
    [
      'an unknown field in a module',
      { backend: { id: 'b' } },
      '214',
      /'backend\.id' is not a field.*backend_id, enabled/,
    ],
    ['__proto__', JSON.parse('{"backend":{"__proto__":{"backend_id":"b"}}}'), '214', /'backend\.__proto__'/],
    ['a hostport without port', { hostports: ['a:1', 'b'] }, '7104', /^hostports\[1\] 'b' is not a hostport/],
    [
      '1001 hostports',
      { hostports: Array(1001).fill('a:1') },
      '7104',
      /^hostports has 1001 items; the maximum is 1000/,
    ],
    ['a backend without id', { backend: {} }, '242', /^backend\.backend_id is missing/],
    ['a backend id with a slash', { backend: { backend_id: '../x' } }, '242', /^backend\.backend_id '\.\.\/x' must be/],
    [
      'a policy id with a blank',
      { ip_restriction: { ip_policy_ids: ['a', 'b c'] } },
      '229',
      /^ip_restriction\.ip_policy_ids\[1\] 'b c' must be/,
    ],
    [
      '101 policies',
      { ip_restriction: { ip_policy_ids: Array(101).fill('a') } },
      '229',
      /names 101 IP policies; the maximum is 100/,
    ],
  ])('answers 400 to %s', async (_, body, code, msg) => {
    await expectRefusal(() => admin.post('/edges/tcp', body), 400, `ERR_NGROK_${code}`, msg);
  });

  it('answers 400 to a traffic policy without a value, and to a body that is not an object', async () => {
    const body = { traffic_policy: { enabled: true } };
    await expectRefusal(() => admin.post('/edges/tcp', body), 400, 'ERR_TAS_400', /^traffic_policy\.value is missing/);
    for (const wrong of [[], 'x', 1, null]) {
      await expectRefusal(() => admin.post('/edges/tcp', wrong), 400, 'ERR_NGROK_213');
    }
  });

  it('accepts 1000 hostports and 100 policies', async () => {
    const hostports = Array.from({ length: 1000 }, (_, n) => `h${n}.example.com:1`);
    const edge = await create({ hostports, ip_restriction: { ip_policy_ids: Array(100).fill('x'.repeat(128)) } });
    expect(edge.hostports).toEqual(hostports);
    expect((await admin.get(`/edges/tcp/${edge.id}`)).body).toEqual(edge);
  });

  it('lets several edges of an account list one hostport, and one edge list it twice', async () => {
    const hostports = ['shared.example.com:1', 'SHARED.example.com:1', 'shared.example.com:1'];
    const edges = [await create({ hostports }), await create({ hostports })];
    for (const edge of edges) expect(edge.hostports).toEqual(hostports);
  });

  it('records every field, and the canonical form of each hostport', async () => {
    const { id, created_at } = await create({ hostports: ['A.example.com:1'], backend: { backend_id: 'b' } });
    const data = {
      description: '',
      metadata: '',
      hostports: [{ text: 'A.example.com:1', canonical: 'a.example.com:1', exclusive: false, listed_at: created_at }],
      backend: { enabled: true, backend_id: 'b' },
      ip_restriction: null,
      traffic_policy: null,
    };
    expect(await eventsOf(id)).toEqual([{ type: 'tcp_edge_created.v1', data }]);
  });
});

describe('GET /edges/tcp/{id}', () => {
  it('answers exactly what the create answered, to every principal of the account', async () => {
    const created = await create(WHOLE);
    expect(await admin.get(`/edges/tcp/${created.id}`)).toMatchObject({ status: 200, body: created });
    expect((await member.client.get(`/edges/tcp/${created.id}`)).body).toEqual(created);
  });
});

describe('PATCH /edges/tcp/{id}', () => {
  it('changes the fields in the body, keeps absent and null fields, and clears with "" and []', async () => {
    const created = await create(WHOLE);
    const path = `/edges/tcp/${created.id}`;
    expect((await admin.patch(path, { description: 'new' })).body).toEqual({ ...created, description: 'new' });
    const nulls = Object.fromEntries(Object.keys(WHOLE).map((name) => [name, null]));
    expect((await admin.patch(path, nulls)).body).toEqual({ ...created, description: 'new' });
    const cleared = { ...created, description: '', metadata: '', hostports: [] };
    expect((await admin.patch(path, { description: '', metadata: '', hostports: [] })).body).toEqual(cleared);
    expect((await admin.get(path)).body).toEqual(cleared);
  });

  it('replaces a module in the body as a whole and keeps the others', async () => {
    const created = await create(WHOLE);
    const path = `/edges/tcp/${created.id}`;
    const { body } = await admin.patch(path, { ip_restriction: {}, traffic_policy: { value: 'x' } });
    expect(body).toEqual({
      ...created,
      ip_restriction: { enabled: true, ip_policies: [] },
      traffic_policy: { enabled: true, value: 'x' },
    });
    expect((await admin.get(path)).body).toEqual(body);
  });

  it('without a change answers 200 with a log position and records no event', async () => {
    const created = await create(WHOLE);
    const before = await eventCount();
    const { id, uri, created_at, description, metadata, hostports } = created;
    const sameTime = created_at.replace('Z', '+00:00');
    const bodies = [{}, WHOLE, { id, uri, created_at, description, metadata, hostports }, { created_at: sameTime }];
    for (const body of bodies) {
      const answer = await admin.patch(`/edges/tcp/${id}`, body);
      expect(answer).toMatchObject({ status: 200, body: created });
      expect(answer.headers.get('log-position')).toMatch(/^\d+$/);
    }
    expect(await eventCount()).toBe(before);
  });

  it('answers 400 when it names another id', async () => {
    const { id } = await create();
    const body = { id: UNKNOWN_ID, description: 'x' };
    await expectRefusal(() => admin.patch(`/edges/tcp/${id}`, body), 400, 'ERR_TAS_400', /^id is read-only/);
  });

  it('validates fields as a create does', async () => {
    const { id } = await create();
    const patch = (body: unknown) => () => admin.patch(`/edges/tcp/${id}`, body);
    await expectRefusal(patch({ description: 'x'.repeat(256) }), 400, 'ERR_NGROK_7073');
    await expectRefusal(patch({ hostports: ['a'] }), 400, 'ERR_NGROK_7104');
    await expectRefusal(patch({ backend: { enabled: false } }), 400, 'ERR_NGROK_242', /^backend\.backend_id/);
    await expectRefusal(patch([]), 400, 'ERR_NGROK_213');
  });
});

describe('DELETE /edges/tcp/{id}', () => {
  it('answers 204 without a body; the edge is deleted and its history stays', async () => {
    const { id } = await create(WHOLE);
    const answer = await admin.delete(`/edges/tcp/${id}`, { 'content-type': 'application/json' });
    expect(answer).toMatchObject({ status: 204, body: undefined });
    expect(answer.headers.get('log-position')).toMatch(/^\d+$/);
    for (const method of ['GET', 'DELETE'])
      await expectRefusal(() => admin.send(method, `/edges/tcp/${id}`, undefined), 404, 'ERR_NGROK_7000');
    await expectRefusal(() => admin.patch(`/edges/tcp/${id}`, {}), 404, 'ERR_NGROK_7000');
    expect((await eventsOf(id)).at(-1)).toEqual({ type: 'tcp_edge_deleted.v1', data: {} });
    const { rows } = await service.pool.query('select from tcp_edge_hostports where edge_id = $1', [id]);
    expect(rows).toEqual([]);
  });
});

describe('GET /edges/tcp', () => {
  it('has pages that end at 1 MiB, now and as of a position, and all edges on them', async () => {
    const { client } = await addAccount(service);
    const texts = [1, 200_000, 262_144, 262_144, 262_144, 1, 262_144, 262_144].map((length) => '"'.repeat(length));
    const made: string[] = [];
    let position: string | null = null;
    for (const value of texts) {
      const { body, headers } = await client.post('/edges/tcp', { traffic_policy: { value } });
      made.push(body.id);
      position = headers.get('log-position');
    }
    for (const first of ['/edges/tcp?limit=5', `/edges/tcp?as_of=${position}`]) {
      const pages: { id: string }[][] = [];
      for (let path: string | undefined = first; path !== undefined; ) {
        const { status, body } = await client.get(path);
        expect([status, body.msg]).toEqual([200, undefined]);
        pages.push(body.tcp_edges);
        path = body.next_page_uri?.replace(service.app.url, '');
      }
      // Each quote has two bytes in JSON.
      expect(pages.map((page) => page.length)).toEqual([1, 2, 1, 1, 3]);
      for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(1024 * 1024 + 10);
      expect(pages.flat().map(({ id }) => id)).toEqual(made.toReversed());
    }
  });
});
