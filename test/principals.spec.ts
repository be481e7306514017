import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { apiKeyAppend, apiKeyRow, newEvent, openLog } from './support/log.js';
import { addManyCredentials } from './support/many-credentials.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { stall } from './support/raw-http.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
let member: TestPrincipal;
let bot: TestPrincipal;
let other: TestPrincipal;

beforeAll(async () => {
  service = await startService();
  admin = service.admin;
  member = await addUser(service, 'member');
  bot = await addBot(service);
  other = await addAccount(service);
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

let emails = 0;
const newEmail = (): string => {
  emails += 1;
  return `somebody-${emails}@example.test`;
};

const typesOf = async (...ids: string[]): Promise<string[]> => {
  const { rows } = await service.pool.query('select type from events where stream_id = any($1) order by position', [
    ids,
  ]);
  return rows.map((row) => row.type);
};

describe('POST /users', () => {
  it('answers 201 with the user, by default a member', async () => {
    const email = newEmail();
    const { status, body } = await admin.post('/users', { email });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^usr_[0-9A-Za-z]{27}$/),
        uri: `${service.app.url}/users/${body.id}`,
        email,
        role: 'member',
        active: true,
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    expect((await admin.post('/users', { email: newEmail(), role: 'admin' })).body.role).toBe('admin');
  });

  it.each([
    ['no email', {}, /email must be/],
    ['what is no email', { email: 'somebody' }, /email must be/],
    ['an email in other letters', { email: 'sömebody@example.test' }, /email must be/],
    ['another role', { email: 'a@example.test', role: 'owner' }, /role must be admin, member or auditor, not 'owner'/],
  ])('answers 400 to %s', async (_, body, msg) => {
    await expectRefusal(() => admin.post('/users', body), 400, 'ERR_TAS_400', msg);
  });

  it('answers 409 to an email in use, in any case, until its user is deleted', async () => {
    const email = newEmail();
    const { body } = await admin.post('/users', { email });
    const post = () => admin.post('/users', { email: email.toUpperCase() });
    await expectRefusal(post, 409, 'ERR_TAS_409');
    await admin.delete(`/users/${body.id}`);
    expect((await post()).status).toBe(201);
  });

  it('of one email 16 times at once creates one user', async () => {
    const email = newEmail();
    const answers = await Promise.all(Array.from({ length: 16 }, () => admin.post('/users', { email })));
    expect(answers.map((a) => a.status).sort()).toEqual([201, ...Array(15).fill(409)]);
  });
});

describe('16 admins created at the same time', () => {
  it('are all created, although each changes the list of admins of the account', async () => {
    const create = () => admin.post('/users', { email: newEmail(), role: 'admin' });
    const answers = await Promise.all(Array.from({ length: 16 }, create));
    expect(answers.map(({ status }) => status)).toEqual(Array(16).fill(201));
    const deleted = await Promise.all(answers.map(({ body }) => admin.delete(`/users/${body.id}`)));
    expect(deleted.map(({ status }) => status)).toEqual(Array(16).fill(204));
  });
});

describe('users and bots', () => {
  it('refuse a member with 403 before they read the fields', async () => {
    await expectRefusal(() => member.client.post('/users', { email: 'not an address' }), 403, 'ERR_NGROK_635');
    await expectRefusal(() => member.client.post('/bot_users', { name: ' ' }), 403, 'ERR_NGROK_635');
  });

  it('are managed by admins and visible to everyone in the account', async () => {
    for (const { client } of [member, bot]) {
      await expectRefusal(() => client.post('/users', { email: newEmail() }), 403, 'ERR_NGROK_635');
      await expectRefusal(() => client.post('/bot_users', { name: 'x' }), 403, 'ERR_NGROK_635');
      await expectRefusal(() => client.patch(`/users/${member.id}`, { role: 'admin' }), 403, 'ERR_NGROK_635');
      await expectRefusal(() => client.delete(`/bot_users/${bot.id}`), 403, 'ERR_NGROK_635');
      expect((await client.get(`/users/${member.id}`)).status).toBe(200);
      expect((await client.get('/bot_users')).body.bot_users).toEqual(
        expect.arrayContaining([expect.objectContaining({ id: bot.id })]),
      );
    }
  });

  it('are listed in pages of their own', async () => {
    const users = (await admin.get('/users?limit=1')).body;
    expect(users).toEqual({
      users: [expect.objectContaining({ id: expect.stringMatching(/^usr_/) })],
      uri: `${service.app.url}/users`,
      next_page_uri: expect.stringContaining('before_id=usr_'),
    });
    const bots = (await admin.get('/bot_users')).body;
    expect(bots.bot_users.every((b: { id: string }) => b.id.startsWith('bot_'))).toBe(true);
  });

  it('keep the fields that a PATCH leaves out; a PATCH without a change records no event', async () => {
    const { body: user } = await admin.post('/users', { email: newEmail() });
    const before = await eventCount();
    expect((await admin.patch(`/users/${user.id}`, user)).body).toEqual(user);
    expect((await admin.patch(`/users/${user.id}`, { role: null, active: null })).body).toEqual(user);
    expect(await eventCount()).toBe(before);
    expect((await admin.patch(`/users/${user.id}`, { active: false })).body).toEqual({ ...user, active: false });
    const patch = () => admin.patch(`/users/${user.id}`, { email: newEmail() });
    await expectRefusal(patch, 400, 'ERR_TAS_400', /email is read-only/);
  });
});

describe('POST /bot_users', () => {
  it('answers 201 with the bot, whose name is unique in the account', async () => {
    const { status, body } = await admin.post('/bot_users', { name: 'deploy bot' });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^bot_[0-9A-Za-z]{27}$/),
        uri: `${service.app.url}/bot_users/${body.id}`,
        name: 'deploy bot',
        active: true,
        created_at: expect.stringMatching(/Z$/),
      },
    ]);
    await expectRefusal(() => admin.post('/bot_users', { name: 'deploy bot' }), 409, 'ERR_TAS_409');
    expect((await other.client.post('/bot_users', { name: 'deploy bot' })).status).toBe(201);
    const { body: second } = await admin.post('/bot_users', { name: 'second bot', active: false });
    expect(second.active).toBe(false);
    const rename = () => admin.patch(`/bot_users/${second.id}`, { name: 'deploy bot' });
    await expectRefusal(rename, 409, 'ERR_TAS_409');
    expect((await admin.patch(`/bot_users/${second.id}`, { name: 'third bot' })).body.name).toBe('third bot');
  });

  it('answers 400 to a missing, blank or long name', async () => {
    await expectRefusal(() => admin.post('/bot_users', {}), 400, 'ERR_TAS_400', /name is missing/);
    await expectRefusal(() => admin.post('/bot_users', { name: ' ' }), 400, 'ERR_TAS_400', /name is missing/);
    await expectRefusal(() => admin.post('/bot_users', { name: 'é'.repeat(128) }), 400, 'ERR_TAS_400', /256 bytes/);
  });
});

describe('/service_users', () => {
  it('answers as /bot_users: the same bots, under the name that newer clients of the public API have for them', async () => {
    const { client } = await addAccount(service);
    const made = await client.post('/service_users', { name: 'fleet' });
    expect([made.status, made.body.uri]).toEqual([201, `${service.app.url}/bot_users/${made.body.id}`]);
    const { id } = made.body;
    expect((await client.get(`/service_users/${id}`)).body).toEqual(made.body);
    expect((await client.get(`/bot_users/${id}`)).body).toEqual(made.body);
    const { body: second } = await client.post('/bot_users', { name: 'second' });
    const page = (await client.get('/service_users?limit=1')).body;
    const next_page_uri = `${service.app.url}/service_users?before_id=${second.id}&limit=1`;
    expect(page).toEqual({ service_users: [second], uri: `${service.app.url}/service_users`, next_page_uri });
    expect((await client.patch(`/service_users/${id}`, { ...made.body, name: 'renamed' })).body.name).toBe('renamed');
    expect((await client.get(`/service_users/${id}/events`)).body.events).toHaveLength(2);
    expect((await client.delete(`/service_users/${id}`)).status).toBe(204);
    await expectRefusal(() => client.get(`/bot_users/${id}`), 404, 'ERR_TAS_404');
  });
});

describe('a bot that is an admin', () => {
  const adminBot = async (of: TestPrincipal) => {
    const bot = await addBot(service, of.client);
    expect((await of.client.put(`/bot_users/${bot.id}/role`, { role: 'admin' })).body).toEqual({ role: 'admin' });
    return bot;
  };

  it('provisions without the key of a person: users, bots, their keys and credentials', async () => {
    const { client } = await adminBot(await addAccount(service));
    const { body: device } = await client.post('/bot_users', { name: 'device 1' });
    const key = await client.post('/api_keys', { owner_id: device.id });
    const credential = await client.post('/ssh_credentials', { public_key: newPublicKey(), owner_id: device.id });
    expect([key.status, credential.status, credential.body.owner_id]).toEqual([201, 201, device.id]);
    expect((await client.post('/users', { email: newEmail(), role: 'admin' })).status).toBe(201);
    expect((await client.get('/events?limit=1')).status).toBe(200);
  });

  it('is made by an admin only', async () => {
    const account = await addAccount(service);
    const [member, target] = [await addUser(service, 'member', account.client), await addBot(service, account.client)];
    for (const { client } of [member, target]) {
      const promote = () => client.put(`/bot_users/${target.id}/role`, { role: 'admin' });
      await expectRefusal(promote, 403, 'ERR_NGROK_635', /Only admins/);
    }
  });

  it('counts as an admin: the account keeps one, and it can be the only one', async () => {
    const account = await addAccount(service);
    const bot = await adminBot(account);
    expect((await bot.client.delete(`/users/${account.id}`)).status).toBe(204);
    const last = /last active admin of the account; make another user or bot an admin first/;
    const path = `/bot_users/${bot.id}`;
    await expectRefusal(() => bot.client.put(`${path}/role`, { role: 'auditor' }), 409, 'ERR_TAS_409', last);
    await expectRefusal(() => bot.client.delete(`${path}/role`), 409, 'ERR_TAS_409', last);
    await expectRefusal(() => bot.client.patch(path, { active: false }), 409, 'ERR_TAS_409', last);
    await expectRefusal(() => bot.client.delete(path), 409, 'ERR_TAS_409', last);
    expect((await bot.client.get(`${path}/role`)).body).toEqual({ role: 'admin' });
  });

  it('loses its right to what is on its way, once it is a member again', async () => {
    const account = await addAccount(service);
    const bot = await adminBot(account);
    const headers = { authorization: `Bearer ${bot.client.token}`, expect: '100-continue' };
    const request = stall(service.app.url, 'POST', '/users', headers, JSON.stringify({ email: newEmail() }));
    await request.isAwaited();
    expect((await account.client.delete(`/bot_users/${bot.id}/role`)).status).toBe(204);
    const { status, bytes } = await request.finish();
    expect([status, JSON.parse(bytes.toString()).error_code]).toEqual([403, 'ERR_NGROK_635']);
    await expectRefusal(() => bot.client.post('/bot_users', { name: 'x' }), 403, 'ERR_NGROK_635');
  });
});

describe('the last active admin', () => {
  it('cannot be demoted, deactivated or deleted until there is a second one', async () => {
    const { id, client } = await addAccount(service);
    for (const change of [{ role: 'member' }, { active: false }]) {
      await expectRefusal(() => client.patch(`/users/${id}`, change), 409, 'ERR_TAS_409', /last active admin/);
    }
    await expectRefusal(() => client.delete(`/users/${id}`), 409, 'ERR_TAS_409', /last active admin/);
    const { body: second } = await client.post('/users', { email: newEmail(), role: 'admin' });
    expect((await client.patch(`/users/${second.id}`, { active: false })).status).toBe(200);
    await expectRefusal(() => client.delete(`/users/${id}`), 409, 'ERR_TAS_409', /last active admin/);
    await client.patch(`/users/${second.id}`, { active: true });
    expect((await client.patch(`/users/${id}`, { role: 'member' })).body.role).toBe('member');
    expect((await client.post('/users', { email: newEmail() })).status).toBe(403);
  });

  it('stays when two admins demote each other at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const first = await addAccount(service);
      const second = await addUser(service, 'admin', first.client);
      const [a, b] = await Promise.all([
        first.client.patch(`/users/${second.id}`, { role: 'member' }),
        second.client.patch(`/users/${first.id}`, { role: 'member' }),
      ]);
      expect([a.status, b.status].filter((status) => status === 200)).toHaveLength(1);
      const { rows } = await service.pool.query(
        `select count(*)::int as n from principals where account_id = $1 and role = 'admin' and active`,
        [first.accountId],
      );
      expect(rows).toEqual([{ n: 1 }]);
    }
  });
});

describe('a principal that is deactivated or deleted', () => {
  it('cannot be given a credential or a key', async () => {
    const { id } = await addBot(service);
    await admin.patch(`/bot_users/${id}`, { active: false });
    const credential = { public_key: newPublicKey(), owner_id: id };
    await expectRefusal(() => admin.post('/ssh_credentials', credential), 400, 'ERR_NGROK_636', /is not active/);
    await expectRefusal(() => admin.post('/api_keys', { owner_id: id }), 400, 'ERR_NGROK_636', /is not active/);
    await admin.delete(`/bot_users/${id}`);
    await expectRefusal(() => admin.post('/ssh_credentials', credential), 400, 'ERR_NGROK_636', /is not active/);
    await expectRefusal(() => admin.post('/api_keys', { owner_id: id }), 400, 'ERR_NGROK_636', /is not active/);
  });

  it('is deleted with its keys and credentials in one append, as the log shows', async () => {
    const { id, client, keyId } = await addUser(service, 'member');
    const { body: credential } = await client.post('/ssh_credentials', { public_key: newPublicKey() });
    const answer = await admin.delete(`/users/${id}`);
    expect(answer.status).toBe(204);
    await expectRefusal(() => client.get('/ssh_credentials'), 401, 'ERR_NGROK_203');
    await expectRefusal(() => admin.get(`/ssh_credentials/${credential.id}`), 404, 'ERR_TAS_404');
    await expectRefusal(() => admin.get(`/api_keys/${keyId}`), 404, 'ERR_TAS_404');
    await expectRefusal(() => admin.get(`/users/${id}`), 404, 'ERR_TAS_404');
    await expectRefusal(() => admin.delete(`/users/${id}`), 404, 'ERR_TAS_404');
    expect((await typesOf(id, credential.id, keyId)).slice(-3).sort()).toEqual([
      'api_key_deleted.v1',
      'ssh_credential_deleted.v1',
      'user_deleted.v1',
    ]);
    const { rows } = await service.pool.query(
      'select email from principals where id = $1 and deleted union all select data from events where stream_id = $1 and stream_version > 1',
      [id],
    );
    expect(rows).toEqual([{ email: '' }, { email: '{}' }]);
  });
});

describe('deleting a principal', () => {
  const ownedBy = async (id: string): Promise<number> => {
    const { rows } = await service.pool.query(
      'select (select count(*) from api_keys where owner_id = $1)::int + (select count(*) from ssh_credentials where owner_id = $1)::int as n',
      [id],
    );
    return rows[0].n;
  };

  it('removes more entities than one append holds', async () => {
    const owner = await addBot(service);
    await addManyCredentials(service.pool, owner, 450);
    expect(await ownedBy(owner.id)).toBe(451);
    expect((await admin.delete(`/bot_users/${owner.id}`)).status).toBe(204);
    expect(await ownedBy(owner.id)).toBe(0);
    const { rows } = await service.pool.query(
      `select count(*)::int as n from events where type in ('ssh_credential_deleted.v1', 'api_key_deleted.v1')
       and metadata::jsonb ->> 'operation_id' = (select metadata::jsonb ->> 'operation_id' from events where stream_id = $1 order by position desc limit 1)`,
      [owner.id],
    );
    expect(rows).toEqual([{ n: 451 }]);
  });

  it('leaves no entity behind, even if many are being created for it at the same time', async () => {
    for (let round = 0; round < 5; round += 1) {
      const { id } = await addBot(service);
      const makers = Array.from({ length: 20 }, (_, n) =>
        n % 2 === 0
          ? admin.post('/api_keys', { owner_id: id })
          : admin.post('/ssh_credentials', { owner_id: id, public_key: newPublicKey() }),
      );
      const deletion = admin.delete(`/bot_users/${id}`);
      const statuses = (await Promise.all(makers)).map((a) => (a.status === 400 ? a.body.error_code : a.status));
      expect((await deletion).status).toBe(204);
      expect(statuses.filter((s) => s !== 201 && s !== 'ERR_NGROK_636')).toEqual([]);
      expect(await ownedBy(id)).toBe(0);
    }
  });

  it('makes the tables refuse entities that are still being created for this owner', async () => {
    const owner = await addBot(service);
    await admin.delete(`/bot_users/${owner.id}`);
    const late = openLog(service.databaseUrl);
    const row = { ...apiKeyRow(owner.accountId, 'ak_late', 'hash of a late token'), owner_id: owner.id };
    const append = late.log.append(apiKeyAppend(owner.accountId, newEvent('ak_late', 1), [], [row]));
    await expect(append).rejects.toMatchObject({ name: 'ConstraintViolated', constraint: 'owner_deleted' });
    await late.close();
    expect(await ownedBy(owner.id)).toBe(0);
  });

  it('frees its email only for users after the deletion in the log', async () => {
    for (let round = 0; round < 5; round += 1) {
      const email = newEmail();
      const { body: first } = await admin.post('/users', { email });
      const [second, deleted] = await Promise.all([
        admin.post('/users', { email }),
        admin.delete(`/users/${first.id}`),
      ]);
      const position = (a: typeof second) => Number(a.headers.get('log-position'));
      expect(deleted.status).toBe(204);
      if (second.status === 201) expect(position(second)).toBeGreaterThan(position(deleted));
      else expect(second.status).toBe(409);
    }
  });
});

describe('POST /api_keys', () => {
  it('answers 201 with the token, which is in no other answer', async () => {
    const { status, body } = await member.client.post('/api_keys', { description: 'ci', metadata: '{}' });
    expect([status, body]).toEqual([
      201,
      {
        id: expect.stringMatching(/^ak_[0-9A-Za-z]{27}$/),
        uri: `${service.app.url}/api_keys/${body.id}`,
        description: 'ci',
        metadata: '{}',
        created_at: expect.stringMatching(/Z$/),
        owner_id: member.id,
        token: `${body.id.slice(3)}_${body.token.slice(28)}`,
      },
    ]);
    expect(Buffer.from(body.token.slice(28), 'base64url').length).toBeGreaterThanOrEqual(20);
    const asMember = { ...body, token: null };
    expect((await member.client.get(`/api_keys/${body.id}`)).body).toEqual(asMember);
    expect((await member.client.get('/api_keys')).body.keys).toContainEqual(asMember);
    expect((await member.client.patch(`/api_keys/${body.id}`, { description: 'x' })).body.token).toBe(null);
    const { rows } = await service.pool.query('select e::text as text from events e where stream_id = $1', [body.id]);
    expect(rows.map((r) => r.text).join()).not.toContain(body.token.slice(28));
  });

  it('lets an admin create keys for others, and a member or a bot only for itself', async () => {
    const { status, body } = await admin.post('/api_keys', { owner_id: bot.id });
    expect([status, body.owner_id]).toEqual([201, bot.id]);
    const post = () => member.client.post('/api_keys', { owner_id: bot.id });
    await expectRefusal(post, 403, 'ERR_NGROK_630');
    expect((await bot.client.post('/api_keys', {})).body.owner_id).toBe(bot.id);
    const foreign = () => admin.post('/api_keys', { owner_id: other.id });
    await expectRefusal(foreign, 400, 'ERR_NGROK_636', /not known on this account/);
  });
});

describe('API keys', () => {
  it('of others are invisible to members and visible to admins', async () => {
    const { rows } = await service.pool.query('select id from api_keys where account_id = $1', [other.accountId]);
    await expectRefusal(() => admin.get(`/api_keys/${rows[0].id}`), 404, 'ERR_TAS_404');
    for (const call of [
      () => member.client.get(`/api_keys/${bot.keyId}`),
      () => member.client.patch(`/api_keys/${bot.keyId}`, { description: 'mine now' }),
      () => member.client.delete(`/api_keys/${bot.keyId}`),
    ]) {
      await expectRefusal(call, 404, 'ERR_TAS_404', /^Resource not found$/);
    }
    const seen = (await member.client.get('/api_keys')).body.keys.map((k: { owner_id: string }) => k.owner_id);
    expect(new Set(seen)).toEqual(new Set([member.id]));
    expect((await admin.patch(`/api_keys/${bot.keyId}`, { description: 'the bot’s' })).status).toBe(200);
  });
});
