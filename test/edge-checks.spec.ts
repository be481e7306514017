import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from './support/api-client.js';
import { holdAllWrites } from './support/decisions.js';
import { makeIpPolicy } from './support/ip-policies.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startService } from './support/service.js';

let service: Service;
let account: TestPrincipal;
let other: TestPrincipal;
beforeAll(async () => {
  service = await startService(GATEWAY);
  [account, other] = [await addAccount(service), await addAccount(service)];
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

const policyOf = (rules: readonly string[], client = account.client) => makeIpPolicy(client, rules);

let hostports = 0;
/** An edge with a hostport of its own that names the policies. */
const edgeOf = (ip_policy_ids: readonly string[] | undefined, more: object = {}) => {
  hostports += 1;
  const ip_restriction = ip_policy_ids && { ip_policy_ids };
  const backend = { backend_id: 'bkdtg_1' };
  return account.client.create('/edges/tcp', {
    hostports: [`edge.example:${hostports}`],
    ip_restriction,
    backend,
    ...more,
  });
};

const check = (edge: { readonly id: string }, body: object, client: ApiClient = account.client) =>
  client.post(`/edges/tcp/${edge.id}/check`, body);

const policyRef = (id: string) => ({ id, uri: `${service.app.url}/ip_policies/${id}` });

const UNMATCHED = {
  matched_rule: null,
  ip_policy: null,
  unknown_ip_policies: [],
  traffic_policy: null,
  not_served: [],
};

describe('POST /edges/tcp/{id}/check', () => {
  it('names the rule that decided and its policy; both URIs lead there', async () => {
    const [wide, narrow] = [await policyOf(['+10.0.0.0/8']), await policyOf(['-10.1.0.0/16', '+2001:db8::/32'])];
    const edge = await edgeOf([wide.id, narrow.id]);
    const { status, body } = await check(edge, { source: '10.1.2.3' });
    const { id, uri } = narrow.rules['-10.1.0.0/16'] ?? {};
    expect(status).toBe(200);
    expect(body).toEqual({
      allowed: false,
      reason: 'denied',
      matched_rule: { id, uri, cidr: '10.1.0.0/16', action: 'deny' },
      ip_policy: policyRef(narrow.id),
      unknown_ip_policies: [],
      traffic_policy: null,
      not_served: [],
    });
    for (const one of [body.matched_rule, body.ip_policy]) {
      const { pathname } = new URL(one.uri);
      expect((await account.client.get(pathname)).body.id).toBe(one.id);
    }
    for (const [source, cidr] of [
      ['10.2.2.3', '10.0.0.0/8'],
      ['10.2.2.3:50312', '10.0.0.0/8'],
      ['::ffff:10.2.2.3', '10.0.0.0/8'],
      ['[2001:DB8::1]:22', '2001:db8::/32'],
    ]) {
      expect((await check(edge, { source })).body).toMatchObject({
        allowed: true,
        reason: 'allowed',
        matched_rule: { cidr },
      });
    }
    const nothing = { allowed: false, reason: 'no_rule_allows', ...UNMATCHED };
    expect((await check(edge, { source: '192.0.2.7' })).body).toEqual(nothing);
  });

  it('decides by the rules as they are now', async () => {
    const policy = await policyOf(['+192.0.2.0/24']);
    const edge = await edgeOf([policy.id]);
    const reasonOf = async () => (await check(edge, { source: '192.0.2.7' })).body.reason;
    const reasons = [await reasonOf()];
    const denial = await account.client.create('/ip_policy_rules', {
      ip_policy_id: policy.id,
      cidr: '192.0.2.7',
      action: 'deny',
    });
    reasons.push(await reasonOf());
    await account.client.patch(`/ip_policy_rules/${denial.id}`, { cidr: '192.0.2.8' });
    reasons.push(await reasonOf());
    for (const { id } of Object.values(policy.rules)) await account.client.delete(`/ip_policy_rules/${id}`);
    reasons.push(await reasonOf());
    await account.client.delete(`/ip_policies/${policy.id}`);
    reasons.push(await reasonOf());
    expect(reasons).toEqual(['allowed', 'denied', 'allowed', 'no_rule_allows', 'policy_unknown']);
  });

  it('lets every address in without a restriction, and with a disabled one', async () => {
    const policy = await policyOf(['-0.0.0.0/0']);
    expect((await check(await edgeOf(undefined), { source: '192.0.2.7' })).body).toEqual({
      allowed: true,
      reason: 'no_restriction',
      ...UNMATCHED,
    });
    const disabled = await edgeOf([], { ip_restriction: { enabled: false, ip_policy_ids: [policy.id, 'ipp_x'] } });
    expect((await check(disabled, { source: '192.0.2.7' })).body).toEqual({
      allowed: true,
      reason: 'restriction_disabled',
      ...UNMATCHED,
      unknown_ip_policies: [policyRef('ipp_x')],
    });
  });

  it('lets no address in if a policy does not exist, and names it: never told of, deleted, of another account', async () => {
    const [known, deleted] = [await policyOf(['+192.0.2.0/24']), await policyOf(['+192.0.2.0/24'])];
    const foreign = await policyOf(['+192.0.2.0/24'], other.client);
    const unknown = ['elsewhere', deleted.id, foreign.id];
    const edge = await edgeOf([known.id, ...unknown, 'elsewhere']);
    await account.client.delete(`/ip_policies/${deleted.id}`);
    const { body } = await check(edge, { source: '192.0.2.7' });
    const unknown_ip_policies = unknown.map(policyRef);
    expect(body).toEqual({ allowed: false, reason: 'policy_unknown', ...UNMATCHED, unknown_ip_policies });
  });

  it('is recorded nowhere, and uses no Idempotency-Key up', async () => {
    const edge = await edgeOf([]);
    const headers = { 'idempotency-key': 'edge-check-1' };
    const before = await eventCount();
    for (const source of ['192.0.2.7', '192.0.2.8']) {
      const answer = await account.client.post(`/edges/tcp/${edge.id}/check`, { source }, headers);
      expect([answer.status, answer.headers.get('log-position')]).toEqual([200, null]);
    }
    expect((await account.client.post('/ip_policies', {}, headers)).status).toBe(201);
    expect(await eventCount()).toBe(before + 1);
  });

  it('writes nothing: it answers while every table is locked against writes', async () => {
    const edge = await edgeOf([(await policyOf(['+192.0.2.0/24'])).id]);
    const held = await holdAllWrites(service.pool);
    const answer = await Promise.race([check(edge, { source: '192.0.2.7' }), sleep(3000, undefined, { ref: false })]);
    await held.release();
    expect(answer?.body.allowed).toBe(true);
  });

  it('is for every user and bot of the account, and 404 for another account', async () => {
    const edge = await edgeOf([]);
    const member = await addUser(service, 'member', account.client);
    const auditor = await addUser(service, 'auditor', account.client);
    const bot = await addBot(service, account.client);
    for (const { client } of [member, auditor, bot]) {
      expect((await check(edge, { source: '192.0.2.7' }, client)).status).toBe(200);
    }
    const body = { source: '192.0.2.7' };
    await expectRefusal(() => check(edge, body, other.client), 404, 'ERR_NGROK_7000', /^Resource not found$/);
    await expectRefusal(() => check({ id: 'x' }, body), 404, 'ERR_NGROK_7000', /^Resource not found$/);
  });

  it.each<[what: string, body: object, code: string, msg: RegExp]>([
    ['no source', {}, 'ERR_TAS_400', /^source is missing; send the address of a client\.$/],
    ['a null source', { source: null }, 'ERR_TAS_400', /^source is missing/],
    ['a number', { source: 7 }, 'ERR_NGROK_215', /^source must be a string/],
    ['a name', { source: 'a.example' }, 'ERR_TAS_400', /^source 'a\.example' is not an address such as 203\.0\.113\.9/],
    ['a network', { source: '192.0.2.0/24' }, 'ERR_TAS_400', /is not an address/],
    ['a zone', { source: 'fe80::1%eth0' }, 'ERR_TAS_400', /is not an address/],
    ['a long text', { source: 'a'.repeat(256) }, 'ERR_TAS_400', /^source is 256 bytes long; the maximum is 255/],
    ['an unknown field', { source: '::1', target: 'a' }, 'ERR_NGROK_214', /'target' is not a field.*source/],
  ])('refuses %s', async (_, body, code, msg) => {
    const edge = await edgeOf([]);
    await expectRefusal(() => check(edge, body), 400, code, msg);
  });
});

describe('GET /ssh_gateway/edges', () => {
  const find = async ({ hostports: [hostport = ''] }: { readonly hostports: readonly string[] }, source?: string) => {
    const query = new URLSearchParams({ hostport, ...(source !== undefined && { source }) });
    const { status, body } = await service.gateway.get(`/ssh_gateway/edges?${query}`);
    expect(status).toBe(200);
    return body.edge;
  };

  it('carries the rules of the policies and the labels of the tunnel group', async () => {
    const policy = await policyOf(['+10.0.0.0/8', '-10.1.0.0/16']);
    const empty = await policyOf([]);
    const group = await account.client.create('/backends/tunnel_group', { labels: { app: 'build', zone: 'eu' } });
    const named = [policy.id, 'elsewhere', empty.id, policy.id];
    const edge = await edgeOf(named, { backend: { backend_id: group.id } });
    const rule = (text: string, action: string) => ({ id: policy.rules[text]?.id, cidr: text.slice(1), action });
    expect(await find(edge)).toEqual({
      account_id: account.accountId,
      edge,
      ip_policies: [
        {
          id: policy.id,
          exists: true,
          rules: [rule('+10.0.0.0/8', 'allow'), rule('-10.1.0.0/16', 'deny')],
        },
        { id: 'elsewhere', exists: false, rules: null },
        { id: empty.id, exists: true, rules: [] },
      ],
      ip_policies_error: null,
      traffic_policy_error: null,
      tunnel_group: { id: group.id, labels: { app: 'build', zone: 'eu' } },
      check: null,
    });
  });

  it('has no tunnel group for another backend, or for one that the service does not have', async () => {
    const foreign = await other.client.create('/backends/tunnel_group', { labels: { a: 'b' } });
    for (const backend_id of ['bkdhr_1', 'bkdtg_1', foreign.id]) {
      const edge = await edgeOf(undefined, { backend: { backend_id } });
      expect(await find(edge)).toMatchObject({ edge: { id: edge.id }, tunnel_group: null, ip_policies: [] });
    }
  });

  it('with a source answers as the check does, without the rules', async () => {
    const policy = await policyOf(['+10.0.0.0/8', '-10.1.0.0/16']);
    const foreign = await policyOf(['+10.0.0.0/8'], other.client);
    for (const ids of [[policy.id], [policy.id, 'elsewhere'], [foreign.id], undefined]) {
      const edge = await edgeOf(ids);
      for (const source of ['10.2.2.3', '[::ffff:10.1.2.3]:1', '192.0.2.7']) {
        const found = await find(edge, source);
        expect({ ...found.check, not_served: [] }).toEqual((await check(edge, { source })).body);
        const listed = (ids ?? []).map((id) => ({ id, exists: id === policy.id, rules: null }));
        expect(found.ip_policies).toEqual(listed);
      }
    }
  });

  it.each(['source=', 'source=a.example', 'source=::1&source=::1'])('answers 400 to the query %s', async (query) => {
    const path = `/ssh_gateway/edges?hostport=edge.example:1&${query}`;
    await expectRefusal(() => service.gateway.get(path), 400, 'ERR_TAS_400');
  });
});

describe('an edge beyond a maximum', () => {
  /** Adds rules that allow 10.0.0.1, 10.0.0.2 and so on, as the service would have written them. */
  const fill = (policyIds: readonly string[], rules: number) =>
    service.pool.query(
      `insert into ip_policy_rules (account_id, id, version, created_at, description, metadata, ip_policy_id, cidr, action)
       select account_id, 'ipr_' || left(md5(id || n), 27), 1, created_at, '', '', id,
         '10.' || n / 65536 || '.' || n / 256 % 256 || '.' || n % 256 || '/32', 'allow' from ip_policies, generate_series(1, $2) n where id = any ($1)`,
      [policyIds, rules],
    );
  const told = async (edge: { readonly hostports: readonly string[] }, source?: string) => {
    const query = new URLSearchParams({ hostport: edge.hostports[0] ?? '', ...(source && { source }) });
    return (await service.gateway.get(`/ssh_gateway/edges?${query}`)).body.edge;
  };
  const SOURCE = '10.0.0.1';

  it('is refused if it is new, is shown if it was stored, may be sent back as it is, and is closed', async () => {
    const ids = Array.from({ length: 101 }, (_, n) => `ipp_${n}`);
    const msg = /^The IP restriction names 101 IP policies; the maximum is 100\.$/;
    const body = { ip_restriction: { ip_policy_ids: ids } };
    await expectRefusal(() => account.client.post('/edges/tcp', body), 400, 'ERR_NGROK_229', msg);
    const edge = await edgeOf(ids.slice(0, 100));
    const path = `/edges/tcp/${edge.id}`;
    await expectRefusal(() => account.client.patch(path, body), 400, 'ERR_NGROK_229', msg);
    await service.pool.query(
      `update tcp_edges set ip_restriction = jsonb_set(ip_restriction, '{ip_policy_ids}', $2) where id = $1`,
      [edge.id, JSON.stringify(ids)],
    );
    const { body: shown } = await account.client.get(path);
    expect(shown.ip_restriction.ip_policies).toHaveLength(101);
    const { id: _, uri, created_at, ...sent } = shown;
    expect((await account.client.patch(path, { ...sent, description: 'sent back' })).status).toBe(200);
    expect(
      (await account.client.put(`${path}/ip_restriction`, { ...body.ip_restriction, enabled: false })).status,
    ).toBe(200);
    expect((await check(edge, { source: SOURCE })).body).toMatchObject({
      allowed: false,
      reason: 'too_many_ip_policies',
      not_served: [{ hostport: edge.hostports[0], reason: 'too_many_ip_policies' }],
    });
    const error = 'the IP restriction names more than 100 IP policies.';
    expect(await told(edge)).toMatchObject({ ip_policies_error: error });
    expect((await told(edge, SOURCE)).check).toMatchObject({ allowed: false, reason: 'too_many_ip_policies' });
  });

  it('of rules is closed as soon as its policies grow, and opens when they shrink', async () => {
    const [half, other] = [await policyOf([]), await policyOf(['+192.0.2.0/24'])];
    await fill([half.id], 4_999);
    const edge = await edgeOf([half.id, other.id]);
    expect((await check(edge, { source: SOURCE })).body).toMatchObject({ allowed: true, not_served: [] });
    const whole = await told(edge);
    expect(whole.ip_policies.map(({ rules }: { rules: object[] }) => rules.length)).toEqual([4_999, 1]);
    const further = await account.client.create('/ip_policy_rules', {
      ip_policy_id: other.id,
      cidr: '192.0.3.0/24',
      action: 'allow',
    });
    expect((await check(edge, { source: SOURCE })).body).toMatchObject({
      allowed: false,
      reason: 'too_many_ip_rules',
      matched_rule: { cidr: '10.0.0.1/32' },
      not_served: [{ hostport: edge.hostports[0], reason: 'too_many_ip_rules' }],
    });
    const exists = { exists: true, rules: null };
    expect(await told(edge)).toMatchObject({
      ip_policies: [exists, exists],
      ip_policies_error: 'the IP policies of the edge have more than 5000 rules in all.',
    });
    expect((await told(edge, SOURCE)).check).toMatchObject({ allowed: false, reason: 'too_many_ip_rules' });
    await account.client.delete(`/ip_policy_rules/${further.id}`);
    expect(await told(edge)).toEqual(whole);
  });
});
