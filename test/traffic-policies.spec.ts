// biome-ignore-all lint/suspicious/noTemplateCurlyInString: these are texts of policies, which fill ${ } themselves
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readTrafficPolicy } from '../src/rules/traffic-policy/traffic-policy.js';
import { ApiClient } from './support/api-client.js';
import { makeIpPolicy } from './support/ip-policies.js';
import { addAccount, addBot, addUser, type TestPrincipal } from './support/principals.js';
import { refusalsOf } from './support/refusals.js';
import { GATEWAY, type Service, startCopy, startService } from './support/service.js';
import { SHOWN_CASES, type TrafficPolicyCase, UNREADABLE_CASES } from './support/traffic-policy-cases.js';

let service: Service;
let account: TestPrincipal;
let other: TestPrincipal;
beforeAll(async () => {
  service = await startService(GATEWAY);
  [account, other] = [await addAccount(service), await addAccount(service)];
});
afterAll(() => service.stop());

const { eventCount, expectRefusal } = refusalsOf(() => service);

let hostports = 0;
/** An edge with a hostport of its own and this policy. */
const edgeWith = (value: string, more: object = {}) => {
  hostports += 1;
  const backend = { backend_id: 'bkdtg_1' };
  const edge = { hostports: [`traffic.example:${hostports}`], backend, traffic_policy: { value }, ...more };
  return account.client.create('/edges/tcp', edge);
};
type Edge = Awaited<ReturnType<typeof edgeWith>>;

const policyOf = async (rules: readonly string[], client = account.client): Promise<string> =>
  (await makeIpPolicy(client, rules)).id;
const policyRef = (id: string) => ({ id, uri: `${service.app.url}/ip_policies/${id}` });

const ask = async (value: string, source: string, more: object = {}, client: ApiClient = account.client) => {
  const { status, body } = await client.post('/traffic_policy/check', { value, source, ...more });
  expect([status, body.msg]).toEqual([200, undefined]);
  return body;
};
const askEdge = async ({ id }: Edge, source: string, more: object = {}) => {
  const { status, body } = await account.client.post(`/edges/tcp/${id}/check`, { source, ...more });
  expect([status, body.msg]).toEqual([200, undefined]);
  return body;
};
const listed = async ({ hostports: [hostport] }: Edge, source?: string) => {
  const query = new URLSearchParams({ hostport, ...(source !== undefined && { source }) });
  const { status, body } = await service.gateway.get(`/ssh_gateway/edges?${query}`);
  expect([status, body.others]).toEqual([200, 0]);
  return body.edge;
};

/** The same case with policies of the account in place of those that it names. */
async function withOwnPolicies(one: TrafficPolicyCase): Promise<TrafficPolicyCase> {
  let { policy } = one;
  const ipPolicies: Record<string, readonly string[]> = {};
  for (const [name, rules] of Object.entries(one.ipPolicies ?? {})) {
    const id = await policyOf(rules);
    ipPolicies[id] = rules;
    policy = policy.replaceAll(name, id);
  }
  return { ...one, policy, ipPolicies };
}

interface Outcome {
  readonly allowed: boolean;
  readonly reason: string;
  readonly place?: string | null;
}
const outcomeOf = ({ allowed, reason, place }: Outcome): string => (allowed ? 'allowed' : `${reason} at ${place}`);

/** The check cannot set the time of a connection, nor the id of its edge. */
const CASES = SHOWN_CASES.filter(({ connection }) => connection === undefined).map((one) => [one.what, one] as const);

describe('a traffic policy does in a check what it does with a connection:', () => {
  it.each(CASES)('%s', async (_, given) => {
    const one = await withOwnPolicies(given);
    const edge = await edgeWith(one.policy);
    const logs: unknown[] = [];
    for (const [source, outcome] of Object.entries(one.sources)) {
      const alone = await ask(one.policy, source);
      const { traffic_policy: through, ...checked } = await askEdge(edge, source);
      expect([alone, through].map(outcomeOf)).toEqual([outcome, outcome]);
      expect(checked).toMatchObject({
        allowed: through.allowed,
        reason: through.allowed ? 'no_restriction' : 'traffic_policy',
      });
      logs.push(...alone.logs.map(({ metadata }: { metadata: unknown }) => metadata));
      expect(through.logs).toEqual(alone.logs);
      expect((await listed(edge, source)).check).toEqual({
        ...checked,
        traffic_policy: through,
        not_served: undefined,
      });
    }
    expect(logs).toEqual(one.logs ?? logs);
    const { ip_policies, traffic_policy_error, check } = await listed(edge);
    expect([traffic_policy_error, check]).toEqual([null, null]);
    const named = readTrafficPolicy(one.policy).ipPolicyIds;
    const rulesOf = (id: string) => one.ipPolicies?.[id];
    expect(
      ip_policies.map(({ id, exists, rules }: { id: string; exists: boolean; rules: { cidr: string }[] | null }) => [
        id,
        exists,
        rules?.map(({ cidr }) => cidr),
      ]),
    ).toEqual(named.map((id) => [id, rulesOf(id) !== undefined, rulesOf(id)?.map((rule) => rule.slice(1))]));
  });
});

describe('a traffic policy that cannot be read', () => {
  it.each(UNREADABLE_CASES.slice(0, 5).map((one) => [one.what, one] as const))(
    'is stored, lets nobody in, and says why: %s',
    async (_, { policy, why }) => {
      const edge = await edgeWith(policy);
      const alone = await ask(policy, '192.0.2.7');
      expect(alone).toMatchObject({ allowed: false, reason: 'unreadable', place: null, rule: null, action: null });
      expect(alone.error.slice(0, why.endsWith('.') ? undefined : why.length)).toBe(why);
      const { allowed, reason, traffic_policy } = await askEdge(edge, '192.0.2.7');
      expect([allowed, reason, traffic_policy]).toEqual([false, 'traffic_policy', alone]);
      const { traffic_policy_error, edge: shown, ip_policies } = await listed(edge);
      expect([traffic_policy_error, shown.traffic_policy.value, ip_policies]).toEqual([alone.error, policy, []]);
      expect((await listed(edge, '192.0.2.7')).check).toMatchObject({ allowed: false, traffic_policy: alone });
    },
  );

  it('is one that is longer than what is read, and its text is not sent to gateways', async () => {
    const value = `{"on_tcp_connect": []}${' '.repeat(262_122)}`;
    const edge = await edgeWith(value);
    expect(edge.traffic_policy.value).toBe(value);
    const error = /^the policy is 262144 bytes long; one of at most 16384 is applied, or 8192 as YAML\. Put long/;
    const { allowed, reason, traffic_policy, not_served } = await askEdge(edge, '192.0.2.7');
    expect([allowed, reason, traffic_policy.error]).toEqual([false, 'traffic_policy', expect.stringMatching(error)]);
    expect(not_served).toEqual([{ hostport: edge.hostports[0], reason: 'traffic_policy_unreadable' }]);
    const told = await listed(edge);
    expect([told.traffic_policy_error, told.edge.traffic_policy]).toEqual([
      expect.stringMatching(error),
      { enabled: true, value: '' },
    ]);
    const read = await edgeWith(`{"on_tcp_connect": []}${' '.repeat(16_362)}`);
    expect((await listed(read)).edge.traffic_policy).toEqual(read.traffic_policy);
  });
});

const restricting = (config: object): string =>
  JSON.stringify({ on_tcp_connect: [{ name: 'office', actions: [{ type: 'restrict-ips', config }] }] });
const DENY = '{"on_tcp_connect": [{"actions": [{"type": "deny"}]}]}';

describe('POST /edges/tcp/{id}/check', () => {
  it('asks the IP restriction first, and the traffic policy only about whom it lets in', async () => {
    const office = await policyOf(['+192.0.2.0/24', '-192.0.2.9/32']);
    const edge = await edgeWith(
      '{"on_tcp_connect": [{"expressions": ["conn.client_ip == \'192.0.2.7\'"], "actions": [{"type": "deny"}]}]}',
      {
        ip_restriction: { ip_policy_ids: [office] },
      },
    );
    const summary = async (source: string) => {
      const { allowed, reason, matched_rule, ip_policy, traffic_policy } = await askEdge(edge, source);
      return [allowed, reason, matched_rule?.cidr, ip_policy?.id, traffic_policy?.reason];
    };
    expect(await summary('192.0.2.8')).toEqual([true, 'allowed', '192.0.2.0/24', office, 'no_action_ends']);
    expect(await summary('192.0.2.7')).toEqual([false, 'traffic_policy', '192.0.2.0/24', office, 'denied']);
    expect(await summary('192.0.2.9')).toEqual([false, 'denied', '192.0.2.9/32', office, undefined]);
    expect(await summary('198.51.100.1')).toEqual([false, 'no_rule_allows', undefined, undefined, undefined]);
  });

  it('does not ask a traffic policy whose module is not enabled', async () => {
    for (const value of [DENY, 'deny']) {
      const edge = await edgeWith(value, { traffic_policy: { enabled: false, value } });
      expect(await askEdge(edge, '192.0.2.7')).toMatchObject({ allowed: true, traffic_policy: null });
      expect(await listed(edge)).toMatchObject({ traffic_policy_error: null, ip_policies: [] });
      expect((await listed(edge, '192.0.2.7')).check).toMatchObject({ allowed: true, traffic_policy: null });
    }
  });

  it('decides by the policy as it is now', async () => {
    const edge = await edgeWith(DENY);
    const reasons = [(await askEdge(edge, '192.0.2.7')).traffic_policy.reason];
    for (const value of ['{}', 'deny', DENY]) {
      await account.client.put(`/edges/tcp/${edge.id}/traffic_policy`, { value });
      reasons.push((await askEdge(edge, '192.0.2.7')).traffic_policy.reason);
    }
    expect(reasons).toEqual(['denied', 'no_action_ends', 'unreadable', 'denied']);
  });

  it('knows the id of the edge, and its first port if the question has no destination', async () => {
    const metadata = { at: '${endpoint.id} ${conn.server_ip} ${conn.server_port} ${conn.client_port}' };
    const policy = JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'log', config: { metadata } }] }] });
    const edge = await edgeWith(policy, { hostports: ['first.example:4001', 'second.example:4002'] });
    const saidOf = ({ logs }: { readonly logs: readonly { readonly metadata: typeof metadata }[] }) =>
      logs.map((log) => log.metadata.at);
    const said = async (source: string, more?: object) =>
      saidOf((await askEdge(edge, source, more)).traffic_policy).concat(saidOf(await ask(policy, source, more)));
    expect(await said('192.0.2.7')).toEqual([`${edge.id} 0.0.0.0 4001 0`, ' 0.0.0.0 0 0']);
    expect(await said('[2001:db8::7]:50')).toEqual([`${edge.id} :: 4001 50`, ' :: 0 50']);
    const destination = '[2001:db8::1]:22';
    const both = [`${edge.id} 2001:db8::1 22 50`, ' 2001:db8::1 22 50'];
    expect(await said('192.0.2.7:50', { destination })).toEqual(both);
    const { body } = await service.gateway.get('/ssh_gateway/edges?hostport=second.example:4002&source=192.0.2.7:50');
    expect(saidOf(body.edge.check.traffic_policy)).toEqual([`${edge.id} 0.0.0.0 4002 50`]);
  });
});

describe('POST /traffic_policy/check', () => {
  it('names the rule, the action, the network and the IP policy that decided', async () => {
    const id = await policyOf(['-192.0.2.0/24']);
    const value = restricting({ allow: ['0.0.0.0/0'], deny: ['198.51.100.0/24'], ip_policies: [id] });
    const restricted = {
      allowed: false,
      reason: 'ip_restricted',
      place: 'on_tcp_connect[0].actions[0]',
      rule: { index: 0, name: 'office' },
      action: 'restrict-ips',
      ...{ error: null, logs: [], logs_left_out: 0, notes: [] },
    };
    const byPolicy = { ...restricted, matched_cidr: '192.0.2.0/24', ip_policy: policyRef(id) };
    expect(await ask(value, '192.0.2.7')).toEqual(byPolicy);
    const byAction = { ...restricted, matched_cidr: '198.51.100.0/24', ip_policy: null };
    expect(await ask(value, '198.51.100.7')).toEqual(byAction);
    expect(await ask(DENY, '::1')).toMatchObject({
      rule: { index: 0, name: null },
      action: 'deny',
      matched_cidr: null,
    });
    expect(await ask(value, '203.0.113.9')).toMatchObject({ allowed: true, place: null, rule: null, action: null });
  });

  it('asks the IP policies of the account, whatever text names them', async () => {
    const foreign = await policyOf(['+0.0.0.0/0'], other.client);
    expect((await ask(restricting({ ip_policies: [foreign] }), '192.0.2.7', {}, other.client)).allowed).toBe(true);
    for (const name of [foreign, 'elsewhere', '\u0000', '\ud800', 'x'.repeat(64)]) {
      const value = restricting({ allow: ['0.0.0.0/0'], ip_policies: [name] });
      const { allowed, reason, notes } = await ask(value, '192.0.2.7');
      expect([allowed, reason, notes.length]).toEqual([false, 'ip_restricted', 1]);
      expect(notes[0]).toMatch(
        /^on_tcp_connect\[0\]\.actions\[0\] names the IP policy .{1,40}, which does not exist\.$/s,
      );
      const [found] = (await listed(await edgeWith(value))).ip_policies;
      expect([found.exists, found.rules]).toEqual([false, null]);
    }
  });

  it('is for every user and bot, with and without gateways', async () => {
    const member = await addUser(service, 'member', account.client);
    const auditor = await addUser(service, 'auditor', account.client);
    const bot = await addBot(service, account.client);
    const copy = await startCopy(service);
    const elsewhere = new ApiClient(copy.app.url, member.client.token);
    for (const client of [member.client, auditor.client, bot.client, elsewhere]) {
      expect((await ask(DENY, '192.0.2.7', {}, client)).reason).toBe('denied');
    }
    await copy.stop();
  });

  it('is recorded nowhere, and uses no Idempotency-Key up', async () => {
    const headers = { 'idempotency-key': 'policy-check-1' };
    const before = await eventCount();
    for (const source of ['192.0.2.7', '192.0.2.8']) {
      const answer = await account.client.post('/traffic_policy/check', { value: DENY, source }, headers);
      expect([answer.status, answer.headers.get('log-position')]).toEqual([200, null]);
    }
    expect(await eventCount()).toBe(before);
  });

  it.each<[what: string, body: object, code: string, msg: RegExp]>([
    ['no text', { source: '::1' }, 'ERR_TAS_400', /^value is missing; send the text of a traffic policy\.$/],
    ['no source', { value: '{}' }, 'ERR_TAS_400', /^source is missing/],
    ['an object for a text', { value: {}, source: '::1' }, 'ERR_NGROK_215', /^value must be a string/],
    [
      'a text that no edge takes',
      { value: 'x'.repeat(262_145), source: '::1' },
      'ERR_TAS_400',
      /the maximum is 262144/,
    ],
    ['a name', { value: '{}', source: 'a.example' }, 'ERR_TAS_400', /^source 'a\.example' is not an address/],
    [
      'a destination without a port',
      { value: '{}', source: '::1', destination: '192.0.2.1' },
      'ERR_TAS_400',
      /^destination .* is not an address with a port/,
    ],
    [
      'IPv6 without brackets',
      { value: '{}', source: '::1', destination: '2001:db8::1' },
      'ERR_TAS_400',
      /^destination/,
    ],
    [
      'a port of nothing',
      { value: '{}', source: '::1', destination: '192.0.2.1:65536' },
      'ERR_TAS_400',
      /^destination/,
    ],
    ['an unknown field', { value: '{}', source: '::1', acl: [] }, 'ERR_NGROK_214', /'acl' is not a field/],
  ])('refuses %s', async (_, body, code, msg) => {
    await expectRefusal(() => account.client.post('/traffic_policy/check', body), 400, code, msg);
  });

  it('takes the turns of checks, one at a time: beyond 50 that wait it is refused with 429', async () => {
    const holder = await service.pool.connect();
    await holder.query('begin; lock table ip_policies in access exclusive mode');
    const value = restricting({ ip_policies: [`ipp_${'0'.repeat(27)}`] });
    const answers = Array.from({ length: 52 }, () =>
      account.client.post('/traffic_policy/check', { value, source: '192.0.2.7' }),
    );
    const { status } = await Promise.race(answers);
    const ofOther = ask(DENY, '192.0.2.7', {}, other.client);
    expect([status, (await ofOther).reason]).toEqual([429, 'denied']);
    await holder.query('rollback');
    holder.release();
    const statuses = (await Promise.all(answers)).map((answer) => answer.status).sort();
    expect(statuses).toEqual([...Array<number>(51).fill(200), 429]);
  });
});

describe('GET /ssh_gateway/edges', () => {
  const rulesOf = ({ ip_policies }: { readonly ip_policies: readonly { readonly rules: object[] | null }[] }) =>
    ip_policies.map(({ rules }) => rules?.length ?? null);

  it('lists the IP policies of the restriction, then those of the traffic policy, each once', async () => {
    const [a, b, c] = [await policyOf(['+192.0.2.0/24']), await policyOf([]), await policyOf(['-0.0.0.0/0', '-::/0'])];
    const edge = await edgeWith(restricting({ ip_policies: [c, a, 'elsewhere'] }), {
      ip_restriction: { ip_policy_ids: [b, a] },
    });
    const { ip_policies } = await listed(edge);
    expect(ip_policies.map(({ id }: { id: string }) => id)).toEqual([b, a, c, 'elsewhere']);
    expect(rulesOf({ ip_policies })).toEqual([0, 1, 2, null]);
    const decided = await listed(edge, '192.0.2.7');
    expect(decided.ip_policies).toEqual(ip_policies.map((one: object) => ({ ...one, rules: null })));
  });

  it('decides with the destination and the start of the connection', async () => {
    const metadata = { at: '${conn.server_ip} ${conn.server_port} ${conn.ts.start}' };
    const edge = await edgeWith(
      JSON.stringify({ on_tcp_connect: [{ actions: [{ type: 'log', config: { metadata } }] }] }),
    );
    const said = async (more: string) => {
      const query = `hostport=${edge.hostports[0]}&source=192.0.2.7${more}`;
      const { status, body } = await service.gateway.get(`/ssh_gateway/edges?${query}`);
      expect([status, body.msg]).toEqual([200, undefined]);
      return body.edge.check.traffic_policy.logs[0].metadata.at;
    };
    const port = edge.hostports[0].split(':')[1];
    expect(await said('')).toMatch(new RegExp(`^0\\.0\\.0\\.0 ${port} 20\\d\\d-`));
    const destination = '&destination=[2001:db8::1]:22';
    expect(await said(`${destination}&started_at=2026-03-04T09:30:15.5Z`)).toBe('2001:db8::1 22 2026-03-04T09:30:15Z');
    expect(await said('&started_at=2026-03-04T09:30:15+02:00')).toBe(`0.0.0.0 ${port} 2026-03-04T07:30:15Z`);
  });

  it.each<[what: string, query: string, msg: RegExp]>([
    ['a destination without a port', 'destination=192.0.2.1', /^destination .* is not an address with a port/],
    ['an empty destination', 'destination=', /^destination is empty/],
    ['two destinations', 'destination=[::1]:1&destination=[::1]:2', /^destination is given 2 times/],
    ['a start that is no time', 'started_at=yesterday', /^started_at 'yesterday' is not an RFC 3339 time/],
    ['a start without an offset', 'started_at=2026-03-04T09:30:15', /^started_at/],
  ])('refuses %s, with and without a source', async (_, query, msg) => {
    for (const source of ['', '&source=192.0.2.7']) {
      const path = `/ssh_gateway/edges?hostport=traffic.example:1&${query}${source}`;
      const { status, body } = await service.gateway.get(path);
      expect([status, body.error_code, body.msg]).toEqual([400, 'ERR_TAS_400', expect.stringMatching(msg)]);
    }
  });
});

describe('POST /ssh_gateway/edges', () => {
  it('answers with the error of each policy and the IP policies that it names', async () => {
    const id = await policyOf(['+192.0.2.0/24']);
    const edges = [await edgeWith('deny'), await edgeWith(restricting({ ip_policies: [id] }))];
    const asked = edges.map(({ hostports: [hostport] }) => hostport);
    const { status, body } = await service.gateway.post('/ssh_gateway/edges', { hostports: asked });
    expect(status).toBe(200);
    expect(body.edges).toMatchObject([
      { traffic_policy_error: expect.stringMatching(/^the policy must be an object/), ip_policies: [] },
      { traffic_policy_error: null, ip_policies: [{ id, exists: true, rules: [{ cidr: '192.0.2.0/24' }] }] },
    ]);
  });
});
