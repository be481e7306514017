import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createApp } from '../src/api/app.js';
import { type Changed, Changes } from '../src/api/resources/changes.js';
import { type TunnelGroup, tunnelGroup } from '../src/api/tunnel-groups/tunnel-group.js';
import { TUNNEL_GROUPS } from '../src/api/tunnel-groups/tunnel-groups.resource.js';
import { Problem } from '../src/kernel/problem.js';
import type { Answer, ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { addUser } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startService, testConfig } from './support/service.js';

let service: Service;
let admin: ApiClient;
beforeAll(async () => {
  service = await startService();
  admin = service.admin;
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);
const newKey = () => ({ 'idempotency-key': randomUUID() });
const all = <T>(n: number, call: (i: number) => Promise<T>) =>
  Promise.all(Array.from({ length: n }, (_, i) => call(i)));
const comparable = ({ status, body, headers }: Answer) => ({
  status,
  body,
  position: headers.get('log-position'),
  etag: headers.get('etag'),
});

describe('Idempotency-Key', () => {
  it('sent 32 times at once makes one event and 32 equal answers', async () => {
    for (const [path, body] of [
      ['/ssh_credentials', { public_key: newPublicKey() }],
      ['/edges/tcp', { hostports: ['a.example.test:1'] }],
      ['/bot_users', { name: 'only once' }],
      ['/users', { email: 'only-once@example.test', role: 'member' }],
    ] as const) {
      const before = await eventCount();
      const key = newKey();
      const answers = await all(32, () => admin.post(path, body, key));
      expect(answers[0]?.status).toBe(201);
      expect(new Set(answers.map((a) => JSON.stringify(comparable(a)))).size).toBe(1);
      expect(await eventCount()).toBe(before + 1);
    }
  });

  it('gives the first answer to a request that is refused because of what the same request did beside it', async () => {
    const changes = service.app.nest.get(Changes);
    const { rows } = await service.pool.query('select account_id from principals limit 1');
    const metadata = { actor: 'system', idempotency_key: randomUUID(), request_hash: 'same' };
    const context = { accountId: rows[0].account_id, metadata };
    const created = tunnelGroup.create({ description: '', metadata: '', labels: {} });
    let first: Changed<TunnelGroup> | undefined;
    const second = await changes.create(TUNNEL_GROUPS, context, async () => {
      first = await changes.create(TUNNEL_GROUPS, context, () => created);
      throw new Problem('conflict', 'It exists already.');
    });
    expect(second).toMatchObject({ isDuplicate: true, position: first?.position, entity: first?.entity });
  });

  it('gives the first answer again after a restart, after later changes and after deletion', async () => {
    const [body, key] = [{ public_key: newPublicKey(), description: 'first' }, newKey()];
    const first = await admin.post('/ssh_credentials', body, key);
    const path = `/ssh_credentials/${first.body.id}`;
    await admin.patch(path, { description: 'second' });
    await admin.delete(path);
    const instance = await createApp(testConfig(service.databaseUrl, { publicUrl: service.app.url }));
    const again = await admin.post(`${instance.url}/ssh_credentials`, body, key);
    await instance.close();
    expect(comparable(again)).toEqual(comparable(first));
    expect((await admin.get(path)).status).toBe(404);
  });

  it('makes PATCH and DELETE repeatable', async () => {
    const { body } = await admin.post('/ssh_credentials', { public_key: newPublicKey(), description: 'a' });
    const path = `/ssh_credentials/${body.id}`;
    const [patch, remove] = [newKey(), newKey()];
    const patched = await all(16, () => admin.patch(path, { description: 'b' }, patch));
    expect(new Set(patched.map((a) => JSON.stringify(comparable(a)))).size).toBe(1);
    await admin.patch(path, { description: 'c' });
    expect((await admin.patch(path, { description: 'b' }, patch)).body.description).toBe('b');
    expect((await admin.get(path)).body.description).toBe('c');
    const deleted = await all(16, () => admin.delete(path, remove));
    expect(deleted.map((a) => a.status)).toEqual(Array(16).fill(204));
    expect(new Set(deleted.map((a) => a.headers.get('log-position'))).size).toBe(1);
  });

  it('with another request is 422', async () => {
    const key = newKey();
    const body = { public_key: newPublicKey() };
    const { body: first } = await admin.post('/ssh_credentials', body, key);
    for (const call of [
      () => admin.post('/ssh_credentials', { ...body, description: 'other' }, key),
      () => admin.post('/edges/tcp', {}, key),
      () => admin.patch(`/ssh_credentials/${first.id}`, {}, key),
      () => admin.patch(`/ssh_credentials/${first.id}`, { acl: ['nope'] }, key),
      () => admin.delete(`/ssh_credentials/${first.id}`, key),
    ]) {
      const refused = await call();
      expect([refused.status, refused.body.error_code]).toEqual([422, 'ERR_TAS_422']);
    }
  });

  it('belongs to its caller: the same key of another caller is a different key', async () => {
    const member = await addUser(service, 'member');
    const key = newKey();
    const [a, b] = await Promise.all([
      admin.post('/ssh_credentials', { public_key: newPublicKey() }, key),
      member.client.post('/ssh_credentials', { public_key: newPublicKey() }, key),
    ]);
    expect([a.status, b.status]).toEqual([201, 201]);
    expect(a.body.id).not.toBe(b.body.id);
  });

  it('of a refused request can be used for the corrected request', async () => {
    const key = newKey();
    await expectRefusal(() => admin.post('/ssh_credentials', { public_key: 'x' }, key), 400, 'ERR_NGROK_612');
    expect((await admin.post('/ssh_credentials', { public_key: newPublicKey() }, key)).status).toBe(201);
  });

  it('shows the token of an API key only the first time, and stores it nowhere', async () => {
    const key = newKey();
    const first = await admin.post('/api_keys', { description: 'once' }, key);
    const again = await admin.post('/api_keys', { description: 'once' }, key);
    expect(first.body.token).toMatch(/_/);
    expect(again.body).toEqual({ ...first.body, token: null });
    const { rows } = await service.pool.query('select e::text as text from events e where stream_id = $1', [
      first.body.id,
    ]);
    expect(rows).toHaveLength(1);
    expect(rows[0].text).not.toContain(first.body.token.slice(28));
  });

  it.each([[''], ['x'.repeat(256)], ['tab\there'], ['ü']])('%p is 400', async (key) => {
    const call = () => admin.post('/ssh_credentials', { public_key: newPublicKey() }, { 'idempotency-key': key });
    await expectRefusal(call, 400, 'ERR_TAS_400', /Idempotency-Key must be/);
  });
});

describe('changes of one entity at once', () => {
  it('are decided one after another, so that none decides in vain', async () => {
    const changes = service.app.nest.get(Changes);
    const { rows } = await service.pool.query('select account_id from principals limit 1');
    const context = { accountId: rows[0].account_id, metadata: { actor: 'system' } };
    const { body } = await admin.post('/backends/tunnel_group', { labels: {} });
    const decided: string[] = [];
    await all(32, (n) =>
      changes.apply(TUNNEL_GROUPS, context, body.id, (group) => {
        decided.push(`d${n}`);
        return tunnelGroup.update(group, { description: `d${n}` });
      }),
    );
    expect(decided).toEqual(Array.from({ length: 32 }, (_, n) => `d${n}`));
    expect((await admin.get(`/backends/tunnel_group/${body.id}`)).headers.get('etag')).toBe('"33"');
  });
});

describe('ETag', () => {
  const create = async () => {
    const { body, headers } = await admin.post('/ssh_credentials', { public_key: newPublicKey() });
    return { path: `/ssh_credentials/${body.id}`, etag: headers.get('etag') ?? '' };
  };

  it('is the version, on create, get and every change', async () => {
    const { path, etag } = await create();
    expect(etag).toBe('"1"');
    expect((await admin.get(path)).headers.get('etag')).toBe('"1"');
    expect((await admin.patch(path, { description: 'x' })).headers.get('etag')).toBe('"2"');
    expect((await admin.patch(path, { description: 'x' })).headers.get('etag')).toBe('"2"');
  });

  it('in If-None-Match makes GET answer 304 without a body', async () => {
    const { path, etag } = await create();
    for (const tags of [etag, `"9", ${etag}`, `W/${etag}`, '*']) {
      const { status, body, headers } = await admin.get(path, { 'if-none-match': tags });
      expect([status, body, headers.get('etag')]).toEqual([304, undefined, etag]);
    }
    expect((await admin.get(path, { 'if-none-match': '"2"' })).status).toBe(200);
    const missing = await admin.get('/ssh_credentials/sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV', { 'if-none-match': '*' });
    expect(missing.status).toBe(404);
  });

  it('in If-Match decides whether PATCH and DELETE apply', async () => {
    const { path, etag } = await create();
    const stale = { 'if-match': '"7"' };
    await expectRefusal(() => admin.patch(path, { description: 'x' }, stale), 412, 'ERR_TAS_412', /ETag is "1"/);
    await expectRefusal(() => admin.delete(path, stale), 412, 'ERR_TAS_412');
    expect((await admin.patch(path, { description: 'x' }, { 'if-match': etag })).status).toBe(200);
    expect((await admin.patch(path, { description: 'y' }, { 'if-match': '*' })).status).toBe(200);
    expect((await admin.delete(path, { 'if-match': '"3"' })).status).toBe(204);
    await expectRefusal(() => admin.delete(path, { 'if-match': '*' }), 404, 'ERR_TAS_404');
  });

  it('that a proxy made weak matches in If-Match as the strong one does', async () => {
    const { path, etag } = await create();
    const stale = { 'if-match': 'W/"7"' };
    await expectRefusal(() => admin.patch(path, { description: 'x' }, stale), 412, 'ERR_TAS_412', /ETag is "1"/);
    expect((await admin.patch(path, { description: 'x' }, { 'if-match': `W/${etag}` })).status).toBe(200);
    expect((await admin.delete(path, { 'if-match': '"9", W/"2"' })).status).toBe(204);
  });

  it.each(['2', '', '"1', '1"', '"1" "2"', '*, "1"'])('If-Match: %s is malformed, and changes nothing', async (tag) => {
    const { path, etag } = await create();
    const refused = () => admin.patch(path, { description: 'x' }, { 'if-match': tag });
    await expectRefusal(refused, 400, 'ERR_TAS_400', /^If-Match must be an ETag in quotes, such as "2"/);
    expect((await admin.get(path)).headers.get('etag')).toBe(etag);
  });

  it('in If-Match of 32 concurrent PATCHes lets one of them apply', async () => {
    const { path, etag } = await create();
    const answers = await all(32, (n) => admin.patch(path, { description: `d${n}` }, { 'if-match': etag }));
    expect(answers.map((a) => a.status).sort()).toEqual([200, ...Array(31).fill(412)]);
  });

  it('holds for edges, users, bots and keys, and for the parts of each, alike', async () => {
    const made = [
      await admin.post('/edges/tcp', {}),
      await admin.post('/users', { email: 'etag@example.test' }),
      await admin.post('/bot_users', { name: 'etag' }),
      await admin.post('/api_keys', {}),
    ];
    for (const { body, headers } of made) {
      expect(headers.get('etag')).toBe('"1"');
      expect((await admin.get(body.uri, { 'if-none-match': '"1"' })).status).toBe(304);
      await expectRefusal(() => admin.delete(body.uri, { 'if-match': '"2"' }), 412, 'ERR_TAS_412');
    }
    const module = `${made[0]?.body.uri}/backend`;
    await expectRefusal(() => admin.put(module, { backend_id: 'b' }, { 'if-match': '"9"' }), 412, 'ERR_TAS_412');
    const put = await admin.put(module, { backend_id: 'b' }, { 'if-match': '"1"' });
    expect([put.status, put.headers.get('etag')]).toEqual([200, '"2"']);
    expect((await admin.get(module, { 'if-none-match': '"2"' })).status).toBe(304);
    const { body: credential } = await admin.post('/ssh_credentials', { public_key: newPublicKey() });
    for (const [part, body] of [
      [`${credential.uri}/expiry`, { expires_at: '2099-01-01T00:00:00Z' }],
      [`${credential.uri}/source_restriction`, { cidrs: ['::1'] }],
      [`${made[3]?.body.uri}/expiry`, { expires_at: '2099-01-01T00:00:00Z' }],
    ] as const) {
      await expectRefusal(() => admin.put(part, body, { 'if-match': '"9"' }), 412, 'ERR_TAS_412');
      await expectRefusal(() => admin.delete(part, { 'if-match': '"9"' }), 412, 'ERR_TAS_412');
    }
    const absent = `${made[0]?.body.uri}/traffic_policy`;
    for (const tags of ['"2"', '*']) expect((await admin.get(absent, { 'if-none-match': tags })).status).toBe(404);
  });
});
