import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startCopy, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
let member: TestPrincipal;
let other: TestPrincipal;

beforeAll(async () => {
  service = await startService();
  admin = service.admin;
  member = await addUser(service, 'member');
  other = await addAccount(service);
});
afterAll(() => service.stop());

const create = async (body: object = {}, client: ApiClient = admin) => {
  const answer = await client.post('/ssh_credentials', { public_key: newPublicKey(), ...body });
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
};

const { eventCount, expectRefusal } = refusalsOf(() => service);

describe('POST /ssh_credentials', () => {
  it('answers 201 with every field as sent', async () => {
    const sent = {
      public_key: newPublicKey('a comment with  two blanks'),
      description: 'laptop – ünï',
      metadata: '{"a":1}',
      acl: ['bind:*.example.com', 'bind:app.example.test', '*', 'bind:app.example.test'],
    };
    const { status, body, headers } = await admin.post('/ssh_credentials', sent);
    expect(status).toBe(201);
    expect(headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(body).toEqual({
      id: expect.stringMatching(/^sshcr_[0-9A-Za-z]{27}$/),
      uri: `${service.app.url}/ssh_credentials/${body.id}`,
      created_at: expect.stringMatching(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/),
      owner_id: expect.stringMatching(/^usr_/),
      ...sent,
    });
  });

  it('fills absent fields with "" and []; null counts as absent', async () => {
    const bare = { description: '', metadata: '', acl: [] };
    expect(await create()).toMatchObject(bare);
    expect(await create({ description: null, metadata: null, acl: null, owner_id: null })).toMatchObject(bare);
    expect(await create({ owner_id: '' })).toMatchObject(bare);
  });

  it('answers with the log position of the change', async () => {
    const { headers, body } = await admin.post('/ssh_credentials', { public_key: newPublicKey() });
    const { rows } = await service.pool.query('select position::text as newest from events where stream_id = $1', [
      body.id,
    ]);
    expect(headers.get('log-position')).toBe(rows[0].newest);
  });

  it('counts bytes, not characters: 255 and 4096 are accepted, one more is refused with the length', async () => {
    const description = `${'é'.repeat(127)}x`;
    const metadata = '😀'.repeat(1024);
    expect(await create({ description, metadata })).toMatchObject({ description, metadata });
    const publicKey = newPublicKey();
    const post = (body: object) => () => admin.post('/ssh_credentials', { public_key: publicKey, ...body });
    await expectRefusal(
      post({ description: 'é'.repeat(128) }),
      400,
      'ERR_NGROK_604',
      /description is 256 bytes long; the maximum is 255/,
    );
    await expectRefusal(
      post({ metadata: `${metadata}x` }),
      400,
      'ERR_NGROK_605',
      /metadata is 4097 bytes long; the maximum is 4096/,
    );
  });

  it.each([
    ['a number', { description: 7 }, /description must be a string, not a number/],
    ['an object', { metadata: {} }, /metadata must be a string, not an object/],
    ['a list', { public_key: [] }, /public_key must be a string, not an array/],
    ['a string for a list', { acl: '*' }, /acl must be a list, not a string/],
    ['a boolean', { owner_id: true }, /owner_id must be a string, not a boolean/],
  ])('answers 400 to a wrong type: %s', async (_, wrong, msg) => {
    const body = { public_key: newPublicKey(), ...wrong };
    await expectRefusal(() => admin.post('/ssh_credentials', body), 400, 'ERR_NGROK_215', msg);
  });

  it('answers 400 to an unknown field and names the known fields', async () => {
    const body = { public_key: newPublicKey(), descripton: null };
    const msg =
      /'descripton' is not a field.*acl, created_at, description, expires_at, id, metadata, owner_id, public_key, source_cidrs, uri/;
    await expectRefusal(() => admin.post('/ssh_credentials', body), 400, 'ERR_NGROK_214', msg);
  });

  it.each([
    ['no key', {}, 'ERR_NGROK_611'],
    ['what is no key', { public_key: 'hello' }, 'ERR_NGROK_612'],
    ['a rule without bind:', { public_key: newPublicKey(), acl: ['*', 'example.com'] }, 'ERR_NGROK_600'],
    ['a rule that is no string', { public_key: newPublicKey(), acl: [null] }, 'ERR_NGROK_600'],
  ])('answers 400 to %s', async (_, body, code) => {
    await expectRefusal(() => admin.post('/ssh_credentials', body), 400, code);
  });

  it('allows one key several times on one account', async () => {
    const public_key = newPublicKey();
    const [first, second] = [await create({ public_key }), await create({ public_key })];
    expect(first.id).not.toBe(second.id);
  });

  it('answers 409 to a key that is live on another account, until it is deleted there', async () => {
    const public_key = newPublicKey();
    const { id } = await create({ public_key }, other.client);
    const post = () => admin.post('/ssh_credentials', { public_key: `${public_key} other comment` });
    await expectRefusal(post, 409, 'ERR_NGROK_610');
    await other.client.delete(`/ssh_credentials/${id}`);
    expect((await post()).status).toBe(201);
  });

  it('records nothing under the Idempotency-Key of such a refusal', async () => {
    const public_key = newPublicKey();
    const { id } = await create({ public_key }, other.client);
    const post = () => admin.json('POST', '/ssh_credentials', { public_key }, { 'idempotency-key': 'refused-first' });
    await expectRefusal(post, 409, 'ERR_NGROK_610');
    await other.client.delete(`/ssh_credentials/${id}`);
    const [first, again] = [await post(), await post()];
    expect([first.status, again.status, again.body.id]).toEqual([201, 201, first.body.id]);
  });

  it('lets an admin name any owner, known or unknown, and a member only itself', async () => {
    expect(await create({ owner_id: member.id })).toMatchObject({ owner_id: member.id });
    expect(await create({ owner_id: 'from-another-directory_1' })).toMatchObject({
      owner_id: 'from-another-directory_1',
    });
    expect(await create({ owner_id: other.id })).toMatchObject({ owner_id: other.id });
    expect(await create({ owner_id: member.id }, member.client)).toMatchObject({ owner_id: member.id });
    const body = { public_key: 'not even a key', owner_id: 'usr_somebody' };
    await expectRefusal(() => member.client.post('/ssh_credentials', body), 403, 'ERR_NGROK_630');
  });

  it('answers 400 to an invalid owner_id', async () => {
    for (const owner_id of ['a b', 'x'.repeat(129), 'ü']) {
      const body = { public_key: newPublicKey(), owner_id };
      await expectRefusal(() => admin.post('/ssh_credentials', body), 400, 'ERR_TAS_400', /owner_id/);
    }
  });
});

describe('GET /ssh_credentials/{id}', () => {
  it('answers exactly what the create answered', async () => {
    const created = await create({ description: 'x', acl: ['bind:a.example.com'] });
    expect(await admin.get(`/ssh_credentials/${created.id}`)).toMatchObject({ status: 200, body: created });
  });

  it('answers unknown, malformed and foreign ids alike', async () => {
    const foreign = await create({}, other.client);
    for (const id of [
      foreign.id,
      'sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV',
      'x',
      '%00',
      `${foreign.id}%00`,
      '%F0%9F%98%80',
    ]) {
      await expectRefusal(() => admin.get(`/ssh_credentials/${id}`), 404, 'ERR_TAS_404', /^Resource not found$/);
    }
  });

  it('lets every principal of the account read', async () => {
    const created = await create();
    expect(await member.client.get(`/ssh_credentials/${created.id}`)).toMatchObject({ status: 200, body: created });
  });
});

describe('PATCH /ssh_credentials/{id}', () => {
  it('changes the fields in the body, keeps absent and null fields, and clears with "" and []', async () => {
    const created = await create({ description: 'd', metadata: 'm', acl: ['*'] });
    const path = `/ssh_credentials/${created.id}`;
    expect((await admin.patch(path, { description: 'new' })).body).toEqual({ ...created, description: 'new' });
    expect((await admin.patch(path, { description: null, acl: null, metadata: null })).body.description).toBe('new');
    const cleared = { ...created, description: '', metadata: '', acl: [] };
    expect((await admin.patch(path, { description: '', metadata: '', acl: [] })).body).toEqual(cleared);
    expect((await admin.get(path)).body).toEqual(cleared);
  });

  it('without a change answers 200 with a log position and records no event', async () => {
    const created = await create({ description: 'same', acl: ['*'] });
    const before = await eventCount();
    for (const body of [{}, { description: 'same' }, { acl: ['*'], metadata: '' }, created]) {
      const answer = await admin.patch(`/ssh_credentials/${created.id}`, body);
      expect(answer).toMatchObject({ status: 200, body: created });
      expect(answer.headers.get('log-position')).toMatch(/^\d+$/);
    }
    expect(await eventCount()).toBe(before);
  });

  it.each([
    ['id', 'sshcr_3MPflUxi65UVJUZK1y0iEJKUOhV'],
    ['uri', 'http://127.0.0.1/ssh_credentials/x'],
    ['created_at', '2020-01-01T00:00:00.000Z'],
    ['public_key', newPublicKey()],
    ['owner_id', 'usr_other'],
  ])('answers 400 when it names another %s', async (field, value) => {
    const { id } = await create();
    const msg = new RegExp(`^${field} is read-only`);
    await expectRefusal(() => admin.patch(`/ssh_credentials/${id}`, { [field]: value }), 400, 'ERR_TAS_400', msg);
  });

  it('validates fields as a create does', async () => {
    const { id } = await create();
    const path = `/ssh_credentials/${id}`;
    await expectRefusal(() => admin.patch(path, { description: 'x'.repeat(256) }), 400, 'ERR_NGROK_604');
    await expectRefusal(() => admin.patch(path, { metadata: 'x'.repeat(4097) }), 400, 'ERR_NGROK_605');
    await expectRefusal(() => admin.patch(path, { acl: ['bind:'] }), 400, 'ERR_NGROK_600');
    await expectRefusal(() => admin.patch(path, { nope: 1 }), 400, 'ERR_NGROK_214');
    await expectRefusal(() => admin.patch(path, []), 400, 'ERR_NGROK_213');
  });

  it('requires the owner or an admin', async () => {
    const mine = await create({}, member.client);
    const theirs = await create();
    expect((await member.client.patch(`/ssh_credentials/${mine.id}`, { description: 'm' })).status).toBe(200);
    expect((await admin.patch(`/ssh_credentials/${mine.id}`, { description: 'a' })).status).toBe(200);
    const patch = () => member.client.patch(`/ssh_credentials/${theirs.id}`, { description: 'm' });
    await expectRefusal(patch, 403, 'ERR_NGROK_635');
  });

  it('sent 32 times at once with different values applies all of them, one after another', async () => {
    const { id } = await create();
    const answers = await Promise.all(
      Array.from({ length: 32 }, (_, n) => admin.patch(`/ssh_credentials/${id}`, { description: `d${n}` })),
    );
    expect(answers.map((a) => a.status)).toEqual(Array(32).fill(200));
    const { rows } = await service.pool.query(
      `select count(*)::int as n, max(stream_version)::int as newest, count(distinct data)::int as different
       from events where stream_id = $1`,
      [id],
    );
    expect(rows).toEqual([{ n: 33, newest: 33, different: 33 }]);
  });
});

describe('DELETE /ssh_credentials/{id}', () => {
  it('answers 204 without a body; the credential is deleted and its history stays', async () => {
    const { id } = await create();
    const answer = await admin.delete(`/ssh_credentials/${id}`, { 'content-type': 'application/json' });
    expect(answer).toMatchObject({ status: 204, body: undefined });
    await expectRefusal(() => admin.get(`/ssh_credentials/${id}`), 404, 'ERR_TAS_404');
    await expectRefusal(() => admin.delete(`/ssh_credentials/${id}`), 404, 'ERR_TAS_404');
    const { rows } = await service.pool.query('select type, data from events where stream_id = $1 order by position', [
      id,
    ]);
    expect(rows.at(-1)).toEqual({ type: 'ssh_credential_deleted.v1', data: '{}' });
  });

  it('sent 32 times at once deletes once', async () => {
    const { id } = await create();
    const answers = await Promise.all(Array.from({ length: 32 }, () => admin.delete(`/ssh_credentials/${id}`)));
    expect(answers.map((a) => a.status).sort()).toEqual([204, ...Array(31).fill(404)]);
  });
});

describe('GET /ssh_credentials', () => {
  let client: ApiClient;
  let ids: string[];
  beforeAll(async () => {
    ({ client } = await addAccount(service));
    ids = [];
    for (let n = 0; n < 7; n += 1) ids.push((await create({}, client)).id);
  });

  const walk = (path: string) => client.pages(path, 'ssh_credentials');

  it('pages newest first, to the end, by next_page_uri', async () => {
    const newest = [...ids].reverse();
    expect(await walk('/ssh_credentials?limit=3')).toEqual([newest.slice(0, 3), newest.slice(3, 6), newest.slice(6)]);
    expect(await walk('/ssh_credentials?limit=7')).toEqual([newest]);
    expect(await walk('/ssh_credentials')).toEqual([newest]);
  });

  it('answers with the envelope and absolute URIs', async () => {
    const { body } = await client.get('/ssh_credentials?limit=2&unknown=1');
    expect(body).toEqual({
      ssh_credentials: [expect.objectContaining({ id: ids[6] }), expect.objectContaining({ id: ids[5] })],
      uri: `${service.app.url}/ssh_credentials`,
      next_page_uri: `${service.app.url}/ssh_credentials?before_id=${ids[5]}&limit=2`,
    });
  });

  it('takes beforeId as before_id, an empty one as absent, and a limit above 100 as 100', async () => {
    expect((await client.get(`/ssh_credentials?beforeId=${ids[1]}`)).body.ssh_credentials).toHaveLength(1);
    expect((await client.get('/ssh_credentials?before_id=&limit=')).body.ssh_credentials).toHaveLength(7);
    expect((await client.get(`/ssh_credentials?before_id=${ids[6]}&limit=1000`)).body.ssh_credentials).toHaveLength(6);
  });

  it('continues after a cursor that has been deleted', async () => {
    const { id } = await create({}, client);
    await client.delete(`/ssh_credentials/${id}`);
    expect((await client.get(`/ssh_credentials?before_id=${id}`)).body.ssh_credentials).toHaveLength(7);
  });

  it.each([
    ['limit=0', 'ERR_NGROK_233'],
    ['limit=ten', 'ERR_NGROK_244'],
    ['before_id=nope', 'ERR_NGROK_223'],
    ['before_id=usr_3MPflUxi65UVJUZK1y0iEJKUOhV', 'ERR_NGROK_223'],
    ['before_id=%00', 'ERR_NGROK_223'],
  ])('answers 400 to %s', async (query, code) => {
    await expectRefusal(() => client.get(`/ssh_credentials?${query}`), 400, code);
  });
});

describe('in strict mode', () => {
  let strict: Service;
  beforeAll(async () => {
    strict = await startCopy(service, { strict: true });
  });
  afterAll(() => strict.stop());

  it('a key has one live credential on its account; deleting it frees the key', async () => {
    const public_key = newPublicKey();
    const { body } = await strict.admin.post('/ssh_credentials', { public_key });
    const post = () => strict.admin.post('/ssh_credentials', { public_key: ` ${public_key} again\n` });
    expect(await post()).toMatchObject({ status: 409, body: { error_code: 'ERR_NGROK_609' } });
    await strict.admin.delete(`/ssh_credentials/${body.id}`);
    expect((await post()).status).toBe(201);
  });

  it('a key that has a credential from before that mode is refused too, and so is a key of another account', async () => {
    const [before, elsewhere] = [await create(), await create({}, other.client)];
    const post = ({ public_key }: { public_key: string }) => strict.admin.post('/ssh_credentials', { public_key });
    expect(await post(before)).toMatchObject({ status: 409, body: { error_code: 'ERR_NGROK_609' } });
    expect(await post(elsewhere)).toMatchObject({ status: 409, body: { error_code: 'ERR_NGROK_610' } });
  });

  it('32 concurrent creates with one key make one credential', async () => {
    const public_key = newPublicKey();
    const answers = await Promise.all(
      Array.from({ length: 32 }, () => strict.admin.post('/ssh_credentials', { public_key })),
    );
    expect(answers.map((a) => a.status).sort()).toEqual([201, ...Array(31).fill(409)]);
    expect(new Set(answers.filter((a) => a.status === 409).map((a) => a.body.error_code))).toEqual(
      new Set(['ERR_NGROK_609']),
    );
  });

  it('an owner that the account does not know is refused', async () => {
    const body = { public_key: newPublicKey(), owner_id: 'usr_unknown' };
    expect(await strict.admin.post('/ssh_credentials', body)).toMatchObject({
      status: 400,
      body: { error_code: 'ERR_NGROK_636' },
    });
  });
});
