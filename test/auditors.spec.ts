import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { EventStream } from './support/event-stream.js';
import { newPublicKey } from './support/keys.js';
import { tokenOf } from './support/live-feed.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { stall } from './support/raw-http.js';
import { refusalsOf } from './support/refusals.js';
import { CHECKPOINTS, prepareSample, SAMPLES } from './support/route-samples.js';
import { GATEWAY, type Service, startService } from './support/service.js';

let service: Service;
let admin: TestPrincipal;
let user: TestPrincipal;
let bot: TestPrincipal;
/** Routes that an admin may call, and whether they only read. */
let routes: ReadonlyMap<string, boolean>;

beforeAll(async () => {
  service = await startService({ ...GATEWAY, ...CHECKPOINTS, authFailuresPerMinute: 0 });
  admin = await addUser(service, 'admin');
  user = await addUser(service, 'auditor');
  bot = await addBot(service);
  expect((await admin.client.put(`/bot_users/${bot.id}/role`, { role: 'auditor' })).status).toBe(200);
  routes = new Map(
    service.app.routes
      .filter(({ method, isPublic, isForGateways }) => method !== 'HEAD' && !isPublic && !isForGateways)
      .map(({ method, path, onlyReads }) => [`${method} ${path}`, onlyReads]),
  );
});
afterAll(() => service.stop());

const { expectRefusal, eventCount } = refusalsOf(() => service);
const refused = (call: () => ReturnType<ApiClient['get']>) => expectRefusal(call, 403, 'ERR_NGROK_635');
const auditors = (): TestPrincipal[] => [user, bot];
/** All but the routes of gateways and devices, and the one that says who calls. */
const HOLDS = Object.keys(SAMPLES).filter((route) => !/ .(ssh_gateway|caller|enroll$)/.test(route));
const withoutTime = (body: object) => ({ ...body, details: undefined });

describe('an auditor, user or bot,', () => {
  it.each(HOLDS)('reads what an admin reads and changes nothing: %s', async (route) => {
    const { call } = await prepareSample({ service, admin }, route);
    if (routes.get(route) === false) {
      for (const { client } of auditors()) await refused(() => call(client));
      return;
    }
    const before = await eventCount();
    const expected = await call(admin.client);
    expect(expected.status).toBe(200);
    const answers = [];
    for (const { client } of auditors()) answers.push(await call(client));
    expect(await eventCount()).toBe(before);
    // A checkpoint of the sample's own events may come between two of the calls.
    const later = await call(admin.client);
    const asAdmin = [expected, later].map(({ body }) => withoutTime(body));
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(asAdmin).toContainEqual(withoutTime(body));
    }
  });

  it('has a sample of every route: none is left out above', () => {
    expect([...routes.keys()].filter((route) => !HOLDS.includes(route))).toEqual(['POST /enroll', 'GET /caller']);
    expect([...routes.values()].filter((onlyReads) => !onlyReads).length).toBeGreaterThan(20);
  });

  it('cannot change its own keys and credentials either, nor its role', async () => {
    for (const { client, id, keyId } of auditors()) {
      const made = await admin.client.post('/ssh_credentials', { public_key: newPublicKey(), owner_id: id });
      await refused(() => client.patch(`/ssh_credentials/${made.body.id}`, { description: 'mine' }));
      await refused(() => client.delete(`/ssh_credentials/${made.body.id}`));
      await refused(() => client.post('/api_keys', {}));
      await refused(() => client.patch(`/api_keys/${keyId}`, { description: 'mine' }));
      await refused(() => client.delete(`/api_keys/${keyId}`));
      await refused(() => client.put(`/bot_users/${id}/role`, { role: 'member' }));
      await refused(() => client.patch(`/users/${id}`, { role: 'admin' }));
    }
  });

  it('is refused before its body is read, and for an id that does not exist too', async () => {
    const headers = { 'content-type': 'application/json' };
    await refused(() => user.client.send('POST', '/ssh_credentials', '{ no JSON', headers));
    await refused(() => user.client.delete('/edges/tcp/edgtcp_3MPflUxi65UVJUZK1y0iEJKUOhV'));
  });

  it('reads the keys of all owners without their tokens, deleted entities, and the log', async () => {
    const { body } = await user.client.get('/api_keys');
    expect(body.keys.map((key: { owner_id: string }) => key.owner_id)).toEqual(
      expect.arrayContaining([admin.id, bot.id]),
    );
    expect(body.keys.every((key: { token: unknown }) => key.token === null)).toBe(true);
    const key = await admin.client.post('/api_keys', {});
    await admin.client.delete(`/api_keys/${key.body.id}`);
    expect((await bot.client.get(`/api_keys/${key.body.id}/events`)).body.events).toHaveLength(2);
    const asOf = Number(key.headers.get('log-position'));
    expect((await bot.client.get(`/api_keys/${key.body.id}?as_of=${asOf}`)).body.id).toBe(key.body.id);
    for (const accept of ['application/x-ndjson', 'application/cloudevents-batch+json']) {
      const authorization = `Bearer ${bot.client.token}`;
      const url = `${service.app.url}/events?after=${asOf - 1}`;
      const response = await fetch(url, { headers: { accept, authorization } });
      expect(await response.text()).toContain('api_key_deleted.v1');
      expect([response.status, response.headers.get('content-type')?.split(';')[0]]).toEqual([200, accept]);
    }
  });

  it('reads its own account only', async () => {
    const foreign = await addAccount(service);
    const { body } = await foreign.client.post('/ssh_credentials', { public_key: newPublicKey() });
    for (const { client } of auditors()) expect((await client.get(`/ssh_credentials/${body.id}`)).status).toBe(404);
  });
});

describe('the role of a bot', () => {
  it('is member until an admin sets it, has a version like the bot, and leaves the fields of the bot as they were', async () => {
    const { id } = await addBot(service);
    const path = `/bot_users/${id}`;
    const { body: before } = await admin.client.get(path);
    expect((await admin.client.get(`${path}/role`)).body).toEqual({ role: 'member' });
    const set = await admin.client.put(`${path}/role`, { role: 'auditor' });
    expect([set.status, set.body, set.headers.get('etag')]).toEqual([200, { role: 'auditor' }, '"2"']);
    expect((await admin.client.get(path)).body).toEqual(before);
    const { body } = await admin.client.get(
      `/events?stream=${id}&after=${Number(set.headers.get('log-position')) - 1}`,
    );
    expect(body.events).toMatchObject([{ type: 'bot_user_role_changed.v1', data: { role: 'auditor' } }]);
    const stale = await admin.client.put(`${path}/role`, { role: 'member' }, { 'if-match': '"1"' });
    expect(stale.status).toBe(412);
    const removed = await admin.client.delete(`${path}/role`);
    expect([removed.status, removed.body]).toEqual([204, undefined]);
    expect((await admin.client.get(`${path}/role`)).body).toEqual({ role: 'member' });
    const asOf = set.headers.get('log-position');
    expect((await admin.client.get(`${path}/role?as_of=${asOf}`)).body).toEqual({ role: 'auditor' });
  });

  it('records no event if it is set already', async () => {
    const { id } = await addBot(service);
    const before = await eventCount();
    expect((await admin.client.delete(`/bot_users/${id}/role`)).status).toBe(204);
    expect((await admin.client.put(`/bot_users/${id}/role`, { role: 'member' })).status).toBe(200);
    expect(await eventCount()).toBe(before);
  });

  it.each([
    [{ role: 'owner' }, 'ERR_TAS_400', /^role must be admin, member or auditor, not 'owner'\.$/],
    [{}, 'ERR_TAS_400', /^role is missing; send admin, member or auditor\.$/],
    [{ role: 1 }, 'ERR_NGROK_215', /^role must be a string/],
    [{ role: 'auditor', name: 'x' }, 'ERR_NGROK_214', /name/],
  ])('is refused: %j', async (sent, code, message) => {
    const { id } = await addBot(service);
    await expectRefusal(() => admin.client.put(`/bot_users/${id}/role`, sent), 400, code, message);
  });

  it('is set by admins only, and of live bots only', async () => {
    const [member, target] = [await addUser(service, 'member'), await addBot(service)];
    for (const { client } of [member, target]) {
      await refused(() => client.put(`/bot_users/${target.id}/role`, { role: 'auditor' }));
      await refused(() => client.delete(`/bot_users/${target.id}/role`));
      expect((await client.get(`/bot_users/${target.id}/role`)).status).toBe(200);
    }
    await admin.client.delete(`/bot_users/${target.id}`);
    for (const id of [target.id, user.id, 'bot_x']) {
      await expectRefusal(() => admin.client.put(`/bot_users/${id}/role`, { role: 'auditor' }), 404, 'ERR_TAS_404');
      await expectRefusal(() => admin.client.get(`/bot_users/${id}/role`), 404, 'ERR_TAS_404');
    }
  });
});

describe('the role auditor', () => {
  it('is a role of users: created with it, given and taken', async () => {
    const email = 'auditor-of-the-year@example.test';
    const { body } = await admin.client.post('/users', { email, role: 'auditor' });
    expect(body.role).toBe('auditor');
    expect((await admin.client.patch(`/users/${body.id}`, { role: 'member' })).body.role).toBe('member');
    expect((await admin.client.patch(`/users/${body.id}`, { role: 'auditor' })).body.role).toBe('auditor');
  });

  it('is refused to the last active admin, as every other demotion is', async () => {
    const { id, client } = await addAccount(service);
    const demote = () => client.patch(`/users/${id}`, { role: 'auditor' });
    await expectRefusal(demote, 409, 'ERR_TAS_409', /last active admin/);
    await addUser(service, 'auditor', client);
    await expectRefusal(demote, 409, 'ERR_TAS_409', /last active admin/);
  });

  const WAYS: [who: string, add: () => Promise<TestPrincipal>, demote: (id: string) => ReturnType<ApiClient['get']>][] =
    [
      ['admin', () => addUser(service, 'admin'), (id) => admin.client.patch(`/users/${id}`, { role: 'auditor' })],
      ['member', () => addUser(service, 'member'), (id) => admin.client.patch(`/users/${id}`, { role: 'auditor' })],
      ['bot', () => addBot(service), (id) => admin.client.put(`/bot_users/${id}/role`, { role: 'auditor' })],
    ];

  it.each(WAYS)('takes the right of a change that is on its way: that of an %s', async (_, add, demote) => {
    const by = await add();
    const headers = { authorization: `Bearer ${tokenOf(by)}`, expect: '100-continue' };
    const body = JSON.stringify({ public_key: newPublicKey() });
    const request = stall(service.app.url, 'POST', '/ssh_credentials', headers, body);
    await request.isAwaited();
    expect((await demote(by.id)).status).toBe(200);
    const before = await eventCount();
    const { status, bytes } = await request.finish();
    expect([status, JSON.parse(bytes.toString()).error_code]).toEqual([403, 'ERR_NGROK_635']);
    expect(await eventCount()).toBe(before);
  });

  it('answers no repeated change of the time before it', async () => {
    const by = await addUser(service, 'member');
    const create = () => by.client.post('/edges/tcp', {}, { 'idempotency-key': 'before' });
    expect((await create()).status).toBe(201);
    await admin.client.patch(`/users/${by.id}`, { role: 'auditor' });
    await refused(create);
  });

  it.each([
    ['user', () => addUser(service, 'auditor'), (id: string) => admin.client.patch(`/users/${id}`, { role: 'member' })],
    [
      'bot',
      async () => {
        const made = await addBot(service);
        await admin.client.put(`/bot_users/${made.id}/role`, { role: 'auditor' });
        return made;
      },
      (id: string) => admin.client.delete(`/bot_users/${id}/role`),
    ],
  ])('is lost at once by a %s: reads are refused, and live feeds end', async (_, add, demote) => {
    const by = await add();
    const stream = await EventStream.open(`${service.app.url}/events`, tokenOf(by));
    await stream.until(1);
    const lostAt = performance.now();
    expect((await demote(by.id)).status).toBeLessThan(300);
    await refused(() => by.client.get('/events'));
    await refused(() => by.client.get('/bind_decisions'));
    expect(await stream.ended).toBe('ended');
    expect(performance.now() - lostAt).toBeLessThan(6_000);
    expect((await by.client.post('/edges/tcp', {})).status).toBe(201);
  });
});

it('a bot or member that would manage principals gets the code for a missing role', async () => {
  for (const { client } of [await addBot(service), await addUser(service, 'member')]) {
    await refused(() => client.post('/bot_users', { name: 'made by a bot' }));
    await refused(() => client.post('/bot_users', {}));
    await refused(() => client.post('/users', { email: 'made-by-a-bot@example.test' }));
  }
});
