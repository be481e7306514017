import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { addAccount, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { type Service, startService } from './support/service.js';

let service: Service;
let admin: ApiClient;
let other: TestPrincipal;
beforeAll(async () => {
  service = await startService();
  admin = service.admin;
  other = await addAccount(service);
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

const KSUID = '3MPflUxi65UVJUZK1y0iEJKUOhV';
/** Creates one, and returns its body. */
async function made(path: string, body: object, client = admin) {
  const answer = await client.post(path, body);
  expect(answer).toMatchObject({ status: 201 });
  return answer.body;
}
const newPolicy = (client = admin) => made('/ip_policies', {}, client);
const newRule = (policy: { id: string }, cidr: string, action = 'allow', client = admin) =>
  made('/ip_policy_rules', { ip_policy_id: policy.id, cidr, action }, client);

// test/clients has them created, read, listed, changed and deleted, in the shape of the public API.
it.each<[string, () => Promise<{ uri: string }>, string]>([
  ['An IP policy', () => newPolicy(), 'ERR_NGROK_341'],
  ['A rule', async () => newRule(await newPolicy(), '192.0.2.1'), 'ERR_NGROK_1404'],
  ['A tunnel group', () => made('/backends/tunnel_group', {}), 'ERR_TAS_404'],
])('%s that is deleted is not found', async (_, make, code) => {
  const { uri } = await make();
  expect((await admin.delete(uri)).status).toBe(204);
  await expectRefusal(() => admin.get(uri), 404, code, /^Resource not found$/);
});

describe('a rule of an IP policy', () => {
  it('is listed with the rules of its policy, page by page, now and as of a moment', async () => {
    const [policy, other] = [await newPolicy(), await newPolicy()];
    const [first, , second] = [
      await newRule(policy, '192.0.2.1'),
      await newRule(other, '192.0.2.2'),
      await newRule(policy, '192.0.2.3'),
    ];
    const list = `/ip_policy_rules?ip_policy_id=${policy.id}`;
    expect((await admin.get(list)).body.ip_policy_rules.map(({ id }: { id: string }) => id)).toEqual([
      second.id,
      first.id,
    ]);
    const { body } = await admin.get(`${list}&limit=1`);
    const { pathname, search } = new URL(body.next_page_uri);
    expect((await admin.get(pathname + search)).body).toMatchObject({ ip_policy_rules: [{ id: first.id }] });
    const position = (await admin.delete(`/ip_policy_rules/${first.id}`)).headers.get('log-position');
    expect((await admin.get(`${list}&as_of=${Number(position) - 1}`)).body.ip_policy_rules).toHaveLength(2);
    await expectRefusal(
      () => admin.get('/ip_policy_rules?ip_policy_id=a%00'),
      400,
      'ERR_TAS_400',
      /^ip_policy_id must be/,
    );
  });

  it('keeps its action and its policy', async () => {
    const policy = await newPolicy();
    const { id, ip_policy } = await newRule(policy, '192.0.2.1');
    const patch = (body: object) => () => admin.patch(`/ip_policy_rules/${id}`, body);
    const another = await newPolicy();
    await expectRefusal(patch({ action: 'deny' }), 400, 'ERR_TAS_400', /^action is read-only/);
    await expectRefusal(patch({ ip_policy: { id: another.id } }), 400, 'ERR_TAS_400', /^ip_policy is read-only/);
    await expectRefusal(patch({ ip_policy: { ...ip_policy, uri: another.uri } }), 400, 'ERR_TAS_400', /^ip_policy is/);
    await expectRefusal(patch({ ip_policy_id: another.id }), 400, 'ERR_NGROK_214');
    expect((await patch({ ip_policy, action: 'allow' })()).status).toBe(200);
  });

  it.each([
    ['192.0.2.1', '192.0.2.1/32'],
    ['0.0.0.0/0', '0.0.0.0/0'],
    ['::/0', '::/0'],
    ['2001:DB8:0:0::/32', '2001:db8::/32'],
    ['::ffff:198.51.100.0/120', '198.51.100.0/24'],
  ])('with the cidr %s has the cidr %s', async (sent, canonical) => {
    expect((await newRule(await newPolicy(), sent)).cidr).toBe(canonical);
  });

  it.each([
    ['bits after the prefix', '192.0.2.1/24', '1409', /send 192\.0\.2\.0\/24 for the network, or 192\.0\.2\.1\/32/],
    ['no address', 'example.com', '1406', /^cidr 'example.com' is not a network such as/],
    ['a prefix that is too long', '192.0.2.0/33', '1406', /prefix from 0 to 32/],
    ['an empty text', '', '1405', /^cidr is missing/],
  ])('with %s is refused', async (_, cidr, code, msg) => {
    const policy = await newPolicy();
    const { id } = await newRule(policy, '198.51.100.0/24');
    const expected = `ERR_NGROK_${code}`;
    const body = { ip_policy_id: policy.id, cidr, action: 'allow' };
    await expectRefusal(() => admin.post('/ip_policy_rules', body), 400, expected, msg);
    await expectRefusal(() => admin.patch(`/ip_policy_rules/${id}`, { cidr }), 400, expected, msg);
  });

  it('without a cidr, a known action or a policy of the account is refused', async () => {
    const [policy, foreign] = [await newPolicy(), await newPolicy(other.client)];
    const post = (body: object) => () => admin.post('/ip_policy_rules', body);
    const good = { ip_policy_id: policy.id, cidr: '192.0.2.0/24', action: 'allow' };
    await expectRefusal(post({ ...good, cidr: undefined }), 400, 'ERR_NGROK_1405', /^cidr is missing/);
    for (const action of [undefined, '', 'Allow', 'permit']) {
      await expectRefusal(post({ ...good, action }), 400, 'ERR_NGROK_1422', /'allow' or 'deny'/);
    }
    for (const reference of [{ ip_policy_id: undefined }, { ip_policy: {} }]) {
      const body = { ...good, ip_policy_id: undefined, ...reference };
      await expectRefusal(
        post(body),
        400,
        'ERR_NGROK_1414',
        /^ip_policy_id is missing; send the id of an IP policy\.$/,
      );
    }
    for (const ip_policy_id of ['', 'ipp_1', `ipp_${KSUID}`, foreign.id]) {
      await expectRefusal(post({ ...good, ip_policy_id }), 400, 'ERR_NGROK_1414', /is not the id of an IP policy/);
    }
    await expectRefusal(post({ ...good, description: 'x'.repeat(256) }), 400, 'ERR_NGROK_1421', /256 bytes/);
  });

  it('has a network that no other rule of its policy has', async () => {
    const policy = await newPolicy();
    const [, second] = [await newRule(policy, '192.0.2.0/24'), await newRule(policy, '198.51.100.0/24', 'deny')];
    const mapped = { ip_policy_id: policy.id, cidr: '::ffff:192.0.2.0/120', action: 'deny' };
    const msg = /^The IP policy already has a rule with the cidr '192\.0\.2\.0\/24'\.$/;
    await expectRefusal(() => admin.post('/ip_policy_rules', mapped), 409, 'ERR_NGROK_1408', msg);
    const patch = () => admin.patch(`/ip_policy_rules/${second.id}`, { cidr: '192.0.2.0/24' });
    await expectRefusal(patch, 409, 'ERR_NGROK_1408', msg);
    await newRule(await newPolicy(), '192.0.2.0/24');
    const long = '2001:db8:1111:2222::/64';
    await newRule(policy, long);
    const again = { ip_policy_id: policy.id, cidr: long, action: 'allow' };
    await expectRefusal(() => admin.post('/ip_policy_rules', again), 409, 'ERR_NGROK_1408', new RegExp(`'${long}'`));
  });

  it('that 16 clients create at once is created once', async () => {
    const { id: ip_policy_id } = await newPolicy();
    const body = { ip_policy_id, cidr: '203.0.113.0/24', action: 'allow' };
    const answers = await Promise.all(Array.from({ length: 16 }, () => admin.post('/ip_policy_rules', body)));
    expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array(15).fill(409)]);
  });

  it('is one of at most 5,000 of its policy, which can be deleted with all of them', async () => {
    const { client, accountId } = await addAccount(service);
    const { id } = await newPolicy(client);
    // Rows without a log, since 5,000 requests would take a minute.
    const filled = `insert into ip_policy_rules select $1, 'ipr_' || lpad(n::text, 27, '0'), 1, now(), '', '', $2,
      '10.' || n / 256 || '.' || n % 256 || '.0/24', 'allow' from generate_series(1, 5000) n`;
    await service.pool.query(filled, [accountId, id]);
    expect((await client.delete(`/ip_policies/${id}`)).status).toBe(204);
    expect((await client.get('/ip_policy_rules')).body.ip_policy_rules).toEqual([]);
  });
});

describe('the deletion of an IP policy', () => {
  it('deletes its rules with it, in one append, and those of no other policy', async () => {
    const [policy, another] = [await newPolicy(), await newPolicy()];
    const addresses = Array.from({ length: 120 }, (_, n) => `10.0.0.${n}`);
    const rules = await Promise.all(addresses.map((address) => newRule(policy, address)));
    const kept = await newRule(another, '10.0.0.1');
    const events = await eventCount();
    const { status, headers } = await admin.delete(`/ip_policies/${policy.id}`);
    expect(status).toBe(204);
    expect(await eventCount()).toBe(events + 121);
    const { rows } = await service.pool.query(
      'select count(*)::int as n from ip_policy_rules where ip_policy_id = $1',
      [policy.id],
    );
    expect(rows[0].n).toBe(0);
    await expectRefusal(() => admin.get(rules[7].uri), 404, 'ERR_NGROK_1404');
    expect((await admin.get(kept.uri)).body).toEqual(kept);
    const before = Number(headers.get('log-position')) - 121;
    expect((await admin.get(`${rules[7].uri}?as_of=${before}`)).body).toEqual(rules[7]);
    expect((await admin.get(`/ip_policies/${policy.id}?as_of=${before}`)).body).toEqual(policy);
  });
});

describe('a tunnel group', () => {
  it.each([
    ['a list of labels', ['app'], 'ERR_NGROK_215', /^labels must be an object, not an array/],
    ['a value that is no text', { app: 1 }, 'ERR_NGROK_215', /^The value of the label 'app' must be a string/],
    ['an empty key', { '': 'x' }, 'ERR_NGROK_6509', /empty/],
    ['a long key', { ['k'.repeat(256)]: 'x' }, 'ERR_NGROK_6509', /256 bytes long; the maximum is 255/],
    ['a long value', { app: 'ü'.repeat(128) }, 'ERR_NGROK_6510', /256 bytes long; the maximum is 255/],
    ['an equals sign in a key', { 'a=b': 'x' }, 'ERR_NGROK_6531', /'a=b'/],
    ['101 labels', Object.fromEntries(Array.from({ length: 101 }, (_, n) => [`k${n}`, ''])), 'ERR_TAS_400', /maximum/],
  ])('with %s is refused', async (_, labels, code, msg) => {
    const { id } = await made('/backends/tunnel_group', {});
    await expectRefusal(() => admin.post('/backends/tunnel_group', { labels }), 400, code, msg);
    await expectRefusal(() => admin.patch(`/backends/tunnel_group/${id}`, { labels }), 400, code, msg);
  });

  it('keeps labels with any names, also those of every object', async () => {
    const labels = JSON.parse('{"__proto__": "a", "constructor": "b", "toString": "c", "ünï": "😀"}');
    const { id } = await made('/backends/tunnel_group', { labels });
    const { body } = await admin.get(`/backends/tunnel_group/${id}`);
    expect(JSON.stringify(Object.entries(body.labels).sort())).toBe(JSON.stringify(Object.entries(labels).sort()));
    expect((await admin.patch(`/backends/tunnel_group/${id}`, { labels: {} })).body.labels).toEqual({});
  });
});

it('a version of a tunnel group has one representation, however its labels were sent, and from the log too', async () => {
  for (const labels of [
    { zone: 'eu', app: 'build', b: '1' },
    { b: '1', app: 'build', zone: 'eu' },
  ]) {
    const { headers, body } = await admin.post('/backends/tunnel_group', { labels });
    const path = `/backends/tunnel_group/${body.id}`;
    expect(Object.keys(body.labels)).toEqual(['app', 'b', 'zone']);
    for (const answer of [
      await admin.get(path),
      await admin.get(`${path}?as_of=${headers.get('log-position')}`),
      await admin.patch(path, { labels }),
    ]) {
      const bytes = JSON.stringify(answer.body);
      expect([answer.headers.get('etag'), bytes]).toEqual([headers.get('etag'), JSON.stringify(body)]);
    }
  }
});

describe('an edge that names an IP policy and a tunnel group', () => {
  it('has references whose URIs lead to them, and keeps their ids when they are deleted', async () => {
    const [policy, group] = [await newPolicy(), await made('/backends/tunnel_group', {})];
    const unknown = `ipp_${KSUID}`;
    const modules = { ip_restriction: { ip_policy_ids: [policy.id, unknown] }, backend: { backend_id: group.id } };
    const edge = await made('/edges/tcp', modules);
    const [first, second] = edge.ip_restriction.ip_policies;
    expect((await admin.get(first.uri)).body).toEqual(policy);
    expect((await admin.get(edge.backend.backend.uri)).body).toEqual(group);
    expect((await admin.get(second.uri)).status).toBe(404);
    expect((await admin.delete(first.uri)).status).toBe(204);
    expect((await admin.delete(edge.backend.backend.uri)).status).toBe(204);
    expect((await admin.get(edge.uri)).body).toEqual(edge);
  });
});
