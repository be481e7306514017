import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { upload } from './support/decisions.js';
import { newPublicKey } from './support/keys.js';
import { addAccount, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';

/** A new key for an old one: POST /ssh_credentials/{id}/rotate. */
let service: Service;
let tenant: TestPrincipal;

beforeAll(async () => {
  service = await startService(GATEWAY);
});
afterAll(() => service.stop());
beforeEach(async () => {
  tenant = await addAccount(service);
});

const { eventCount, expectRefusal } = refusalsOf(() => service);

const WHOLE = {
  description: 'laptop',
  metadata: '{"a":1}',
  acl: ['bind:a.example.com'],
  expires_at: '2099-12-31T23:59:59.999Z',
  source_cidrs: ['192.0.2.0/24'],
};
const create = (body: object = {}, { client }: Pick<TestPrincipal, 'client'> = tenant) =>
  upload(service, client, { public_key: newPublicKey(), ...body });
const rotate = (
  id: string,
  overlap: unknown,
  more: object = {},
  headers = {},
  { client }: Pick<TestPrincipal, 'client'> = tenant,
) =>
  client.post(
    `/ssh_credentials/${id}/rotate`,
    { public_key: newPublicKey(), overlap_seconds: overlap, ...more },
    headers,
  );
const show = async (id: string) => (await tenant.client.get(`/ssh_credentials/${id}`)).body;
const changesOf = async (id: string) => {
  const { events } = (await tenant.client.get(`/ssh_credentials/${id}/events`)).body;
  return events.flatMap(({ changes }: { readonly changes: readonly object[] }) => changes);
};
const reasonFor = async ({ id }: { readonly id: string }) => {
  const check = { target: { domain: 'a.example.com' }, source: '192.0.2.7' };
  return (await tenant.client.post(`/ssh_credentials/${id}/check`, check)).body.reason;
};

it('makes a credential with all of the old one but its key, and the old one expires after the overlap', async () => {
  const old = await create(WHOLE);
  const shown = await show(old.id);
  const before = Date.now();
  const made = await rotate(old.id, 3_600);
  expect([made.status, made.headers.get('etag')]).toEqual([201, '"1"']);
  const { id, uri, created_at, public_key } = made.body;
  expect(made.body).toEqual({ ...shown, id, uri, created_at, public_key });
  expect([id, public_key]).not.toEqual([old.id, shown.public_key]);
  expect(await show(id)).toEqual(made.body);
  const { expires_at, ...rest } = await show(old.id);
  expect({ ...rest, expires_at: WHOLE.expires_at }).toEqual(shown);
  expect(Date.parse(expires_at) - before).toBeGreaterThanOrEqual(3_600_000);
  expect(Date.parse(expires_at) - Date.now()).toBeLessThanOrEqual(3_600_000);
  expect([await reasonFor(old), await reasonFor(made.body)]).toEqual(['permitted', 'permitted']);
});

it('is one append, each event names the other credential, and the histories lead to each other', async () => {
  const old = await create();
  const before = await eventCount();
  const made = await rotate(old.id, 60);
  expect(await eventCount()).toBe(before + 2);
  const { rows } = await service.pool.query(
    `select type, stream_id, data::json, metadata::json ->> 'causation_id' as cause, event_id, recorded_at, position
       from events where stream_id = any($1) order by position desc limit 2`,
    [[old.id, made.body.id]],
  );
  expect(rows).toMatchObject([
    { type: 'ssh_credential_created.v1', stream_id: made.body.id, data: { rotated_from: old.id } },
    { type: 'ssh_credential_expiry_changed.v1', stream_id: old.id, data: { rotated_to: made.body.id } },
  ]);
  expect(rows[1].cause).toBe(rows[0].event_id);
  expect(made.headers.get('log-position')).toBe(String(rows[0].position));
  expect(await changesOf(old.id)).toContainEqual({ field: 'rotated_to', from: null, to: made.body.id });
  expect(await changesOf(made.body.id)).toContainEqual({ field: 'rotated_from', from: null, to: old.id });
});

it('without an overlap ends the old one at once, and an earlier expiry of the old one stays', async () => {
  const [ending, short] = [await create(), await create()];
  const made = await rotate(ending.id, 0);
  expect([await reasonFor(ending), await reasonFor(made.body)]).toEqual(['expired', 'permitted']);
  expect(made.body).not.toHaveProperty('expires_at');
  const expires_at = new Date(Date.now() + 60_000).toISOString();
  await tenant.client.put(`/ssh_credentials/${short.id}/expiry`, { expires_at });
  const { body } = await rotate(short.id, 3_600);
  expect([body.expires_at, (await show(short.id)).expires_at]).toEqual([expires_at, expires_at]);
  expect(await changesOf(short.id)).toContainEqual({ field: 'rotated_to', from: null, to: body.id });
});

describe('a rotation that is refused records nothing', () => {
  it.each([
    [{ overlap_seconds: -1 }, 'ERR_TAS_400', /^overlap_seconds must be a whole number from 0 to 2592000\.$/],
    [{ overlap_seconds: 2_592_001 }, 'ERR_TAS_400', /^overlap_seconds must be/],
    [{ overlap_seconds: 0.5 }, 'ERR_TAS_400', /^overlap_seconds must be/],
    [{ overlap_seconds: '60' }, 'ERR_TAS_400', /^overlap_seconds must be/],
    [{ overlap_seconds: null }, 'ERR_TAS_400', /^overlap_seconds is missing/],
    [{ public_key: null }, 'ERR_NGROK_611', /public_key/],
    [{ public_key: 'ssh-rsa' }, 'ERR_NGROK_612', /public_key/],
    [{ acl: [] }, 'ERR_NGROK_214', /'acl' is not a field/],
  ])('since its body is wrong: %j', async (more, code, message) => {
    const { id } = await create();
    await expectRefusal(() => rotate(id, 60, more), 400, code, message);
  });

  it('since the key is the same in any spelling, or is used elsewhere', async () => {
    const old = await create();
    const { public_key } = await show(old.id);
    const same = { public_key: `${public_key.split(' ').slice(0, 2).join(' ')} other comment` };
    await expectRefusal(
      () => rotate(old.id, 0, same),
      400,
      'ERR_TAS_400',
      /^public_key is the key that this SSH credential has/,
    );
    const foreign = newPublicKey();
    await service.admin.post('/ssh_credentials', { public_key: foreign });
    await expectRefusal(() => rotate(old.id, 0, { public_key: foreign }), 409, 'ERR_NGROK_610');
    const strict = await startCopy(service, { ...GATEWAY, strict: true });
    const own = newPublicKey();
    const mine = await create({}, { client: service.admin });
    await strict.admin.post('/ssh_credentials', { public_key: own });
    const again = { public_key: own, overlap_seconds: 0 };
    await expectRefusal(() => strict.admin.post(`/ssh_credentials/${mine.id}/rotate`, again), 409, 'ERR_NGROK_609');
    await strict.stop();
  });

  it('since the credential has expired, is unknown, or is of someone else', async () => {
    const old = await create();
    await rotate(old.id, 0);
    await expectRefusal(
      () => rotate(old.id, 0),
      400,
      'ERR_TAS_400',
      /^This SSH credential has expired at .*; it is now /,
    );
    const other = await create();
    const member = await addUser(service, 'member', tenant.client);
    await expectRefusal(() => rotate(other.id, 0, {}, {}, member), 403, 'ERR_NGROK_635');
    await expectRefusal(() => rotate(`${other.id.slice(0, -1)}~`, 0), 404, 'ERR_TAS_404');
    await expectRefusal(() => rotate(other.id, 0, {}, {}, { client: service.admin }), 404, 'ERR_TAS_404');
  });

  it('since If-Match does not name the version of the old one', async () => {
    const old = await create();
    await expectRefusal(() => rotate(old.id, 60, {}, { 'if-match': '"2"' }), 412, 'ERR_TAS_412');
    expect((await rotate(old.id, 60, {}, { 'if-match': '"1"' })).status).toBe(201);
  });
});

it('is repeatable under its Idempotency-Key', async () => {
  const old = await create();
  const body = { public_key: newPublicKey() };
  const once = { 'idempotency-key': 'rotate' };
  const [first, second] = [await rotate(old.id, 0, body, once), await rotate(old.id, 0, body, once)];
  expect([second.status, second.body]).toEqual([201, first.body]);
  expect(second.headers.get('log-position')).toBe(first.headers.get('log-position'));
  const before = await eventCount();
  await expectRefusal(() => rotate(old.id, 60, body, once), 422, 'ERR_TAS_422');
  expect(await eventCount()).toBe(before);
});

it('of one credential at the same time as other changes of it loses none of them', async () => {
  const old = await create();
  const answers = await Promise.all([
    ...[1, 2, 3].map(() => rotate(old.id, 60)),
    ...['a', 'b', 'c'].map((description) => tenant.client.patch(`/ssh_credentials/${old.id}`, { description })),
  ]);
  expect(answers.map(({ status }) => status)).toEqual([201, 201, 201, 200, 200, 200]);
  const { rows } = await service.pool.query('select count(*)::int as n from events where stream_id = $1', [old.id]);
  expect(rows[0].n).toBe(7);
});
