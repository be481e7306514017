import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
let edge: { id: string };
let path: string;

beforeAll(async () => {
  service = await startService();
  admin = service.admin;
  edge = (await admin.post('/edges/tcp', { description: 'kept', hostports: ['a:1'] })).body;
  path = `/edges/tcp/${edge.id}`;
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

interface Case {
  readonly name: string;
  /** The body of a PUT, and the rendering of the module. */
  readonly put: object;
  readonly rendered: (url: string) => object;
  /** Another body of a PUT. */
  readonly next: object;
  readonly wrong: readonly [body: object, code: string, msg: RegExp][];
}

const MODULES: readonly Case[] = [
  {
    name: 'backend',
    put: { enabled: false, backend_id: 'bkdfo_1' },
    rendered: (url) => ({ enabled: false, backend: { id: 'bkdfo_1', uri: `${url}/backends/failover/bkdfo_1` } }),
    next: { backend_id: 'b' },
    wrong: [
      [{}, 'ERR_NGROK_242', /^backend_id is missing/],
      [{ module: {} }, 'ERR_NGROK_242', /^module\.backend_id is missing/],
      [{ module: { backend_id: 'a b' } }, 'ERR_NGROK_242', /^module\.backend_id 'a b'/],
      [{ backend_id: 1 }, 'ERR_NGROK_215', /^backend_id must be a string/],
    ],
  },
  {
    name: 'ip_restriction',
    put: { ip_policy_ids: ['p'] },
    rendered: (url) => ({ enabled: true, ip_policies: [{ id: 'p', uri: `${url}/ip_policies/p` }] }),
    next: {},
    wrong: [
      [{ ip_policy_ids: ['a', ''] }, 'ERR_NGROK_229', /^ip_policy_ids\[1\] ''/],
      [{ module: { ip_policy_ids: [null] } }, 'ERR_NGROK_229', /^module\.ip_policy_ids\[0\]/],
      [{ module: { ip_policy_ids: 'x' } }, 'ERR_NGROK_215', /^module\.ip_policy_ids must be a list/],
    ],
  },
  {
    name: 'traffic_policy',
    put: { value: ' {"a":\r\n1} ' },
    rendered: () => ({ enabled: true, value: ' {"a":\r\n1} ' }),
    next: { value: '' },
    wrong: [
      [{ enabled: true }, 'ERR_TAS_400', /^value is missing/],
      [{ module: { value: 'x'.repeat(262_145) } }, 'ERR_TAS_400', /^module\.value is 262145 bytes long/],
      [{ value: {} }, 'ERR_NGROK_215', /^value must be a string/],
    ],
  },
];

describe.each(MODULES)('PUT, GET and DELETE /edges/tcp/{id}/$name', ({ name, put, rendered, next, wrong }) => {
  let module: string;
  beforeAll(() => {
    module = `${path}/${name}`;
  });

  it('sets, shows and removes the module; each change is one event on the edge', async () => {
    await expectRefusal(() => admin.get(module), 404, 'ERR_TAS_404', new RegExp(`^The edge has no ${name}`));
    const before = await eventCount();
    const answer = await admin.put(module, put);
    expect(answer).toMatchObject({ status: 200, body: rendered(service.app.url) });
    expect(answer.headers.get('log-position')).toMatch(/^\d+$/);
    expect(await admin.get(module)).toMatchObject({ status: 200, body: rendered(service.app.url) });
    expect((await admin.get(path)).body).toMatchObject({ ...edge, [name]: rendered(service.app.url) });
    const removal = await admin.delete(module);
    expect(removal).toMatchObject({ status: 204, body: undefined });
    expect(removal.headers.get('log-position')).toMatch(/^\d+$/);
    expect((await admin.get(path)).body).toEqual(edge);
    await expectRefusal(() => admin.get(module), 404, 'ERR_TAS_404');
    const { rows } = await service.pool.query(
      'select type, data from events where stream_id = $1 order by position desc limit 2',
      [edge.id],
    );
    expect(rows.map((row) => row.type)).toEqual(['tcp_edge_updated.v1', 'tcp_edge_updated.v1']);
    expect(JSON.parse(rows[0].data)).toEqual({ [name]: null });
    expect(JSON.parse(rows[1].data)).toEqual({ [name]: { enabled: true, ...put } });
    expect(await eventCount()).toBe(before + 2);
  });

  it('accepts the fields of the module alone, or as module beside the id of the edge', async () => {
    for (const body of [
      put,
      { id: edge.id, module: put },
      { module: put },
      { id: edge.id, ...put },
      { module: null, ...put },
    ]) {
      await admin.delete(module);
      expect(await admin.put(module, body)).toMatchObject({ status: 200, body: rendered(service.app.url) });
    }
  });

  it('sent again answers 200 and 204 without an event', async () => {
    await admin.put(module, put);
    const before = await eventCount();
    expect((await admin.put(module, put)).status).toBe(200);
    expect(await eventCount()).toBe(before);
    await admin.delete(module);
    expect((await admin.delete(module)).status).toBe(204);
    expect(await eventCount()).toBe(before + 1);
  });

  it('replaces the module as a whole', async () => {
    await admin.put(module, { enabled: false, ...put });
    expect((await admin.put(module, next)).body).toMatchObject({ enabled: true });
    expect((await admin.get(module)).body).not.toMatchObject(rendered(service.app.url));
    await admin.delete(module);
  });

  it('answers 400 to an invalid field, with its path', async () => {
    for (const [body, code, msg] of wrong) await expectRefusal(() => admin.put(module, body), 400, code, msg);
    const refused = (body: unknown, code: string, msg: RegExp) =>
      expectRefusal(() => admin.put(module, body), 400, code, msg);
    await refused({ ...put, nope: 1 }, 'ERR_NGROK_214', /'nope' is not a field.*id, .*module/);
    await refused({ module: { ...put, nope: 1 } }, 'ERR_NGROK_214', /'module\.nope' is not a field/);
    await refused({ module: { ...put, enabled: 'yes' } }, 'ERR_NGROK_215', /^module\.enabled must be a boolean/);
    await refused({ module: 'x' }, 'ERR_NGROK_215', /^module must be an object/);
    await refused({ id: 'edgtcp_1', module: put }, 'ERR_TAS_400', /^id is read-only/);
    await refused({ module: put, ...put }, 'ERR_TAS_400', /not both/);
    await refused([], 'ERR_NGROK_213', /object/);
  });
});

it('an unknown module is an unknown resource', async () => {
  for (const method of ['GET', 'DELETE']) {
    await expectRefusal(() => admin.send(method, `${path}/hostports`, undefined), 404, 'ERR_TAS_404');
  }
  await expectRefusal(() => admin.put(`${path}/hostports`, {}), 404, 'ERR_TAS_404');
});

it('modules put at once do not overwrite each other', async () => {
  await Promise.all(MODULES.map(({ name, put }) => admin.put(`${path}/${name}`, put)));
  const { body } = await admin.get(path);
  for (const { name, rendered } of MODULES) expect(body[name]).toEqual(rendered(service.app.url));
  await Promise.all(MODULES.map(({ name }) => admin.delete(`${path}/${name}`)));
  expect((await admin.get(path)).body).toEqual(edge);
});
