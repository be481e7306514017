import { describe, expect, it } from '@jest/globals';
import {
  CONNECTION,
  TRAFFIC_POLICY_CASES,
  type TrafficPolicyCase,
  UNREADABLE_CASES,
} from '../../../test/support/traffic-policy-cases.js';
import { parseAddress } from '../ip-rules/address.js';
import { compilePolicy } from '../ip-rules/ip-policy.js';
import {
  decideTcpConnect,
  type PolicyLog,
  type TcpConnection,
  TRAFFIC_REASONS,
  type TrafficDecision,
} from './tcp-connect.js';
import { readTrafficPolicy } from './traffic-policy.js';
import { UnreadablePolicy } from './unreadable-policy.js';

function addressOf(text: string) {
  const address = parseAddress(text);
  if (address === undefined) throw new Error(`${text} is not an address`);
  return address;
}

function connectionFrom(source: string, different: Partial<typeof CONNECTION> = {}): TcpConnection {
  const { clientPort, serverIp, serverPort, endpointId, startedAt, now } = { ...CONNECTION, ...different };
  return {
    client: { address: addressOf(source), port: clientPort },
    server: { address: addressOf(serverIp), port: serverPort },
    startedAtMs: Date.parse(startedAt),
    nowMs: Date.parse(now),
    endpointId,
  };
}

const compiled = (policies: TrafficPolicyCase['ipPolicies'] = {}) =>
  new Map(
    Object.entries(policies).map(([id, rules]) => [
      id,
      compilePolicy(
        rules.map((rule) => ({
          id: rule,
          cidr: rule.slice(1),
          action: rule.startsWith('+') ? ('allow' as const) : ('deny' as const),
        })),
      ),
    ]),
  );

function decide({ policy, ipPolicies, connection }: TrafficPolicyCase, source: string): TrafficDecision {
  return decideTcpConnect(readTrafficPolicy(policy), connectionFrom(source, connection), compiled(ipPolicies));
}

const decideAll = (one: TrafficPolicyCase) =>
  Object.keys(one.sources).map((source) => ({ source, ...decide(one, source) }));

const outcomeOf = ({ allowed, reason, place }: TrafficDecision): string =>
  allowed ? 'allowed' : `${reason} at ${place}`;

function refusalOf(policy: string): UnreadablePolicy | undefined {
  try {
    readTrafficPolicy(policy);
    return undefined;
  } catch (error) {
    if (error instanceof UnreadablePolicy) return error;
    throw error;
  }
}

describe('a traffic policy', () => {
  it('is tried in at least 60 ways, 30 of them from the public documents', () => {
    expect(TRAFFIC_POLICY_CASES.length).toBeGreaterThanOrEqual(60);
    expect(TRAFFIC_POLICY_CASES.filter(({ page }) => page !== undefined).length).toBeGreaterThanOrEqual(30);
    expect(UNREADABLE_CASES.length).toBeGreaterThanOrEqual(60);
  });

  it.each(TRAFFIC_POLICY_CASES.map((one) => [one.what, one] as const))('lets in who it should: %s', (_, one) => {
    const outcomes = decideAll(one).map((decision) => [decision.source, outcomeOf(decision)]);
    expect(Object.fromEntries(outcomes)).toEqual(one.sources);
  });

  it.each(TRAFFIC_POLICY_CASES.flatMap((one) => (one.logs === undefined ? [] : [[one.what, one] as const])))(
    'logs what it should: %s',
    (_, one) => {
      const logs = decideAll(one).flatMap((decision): readonly PolicyLog[] => decision.logs);
      expect(logs.map(({ metadata }) => metadata)).toEqual(one.logs);
    },
  );

  it('ends in every way but one, which takes too many steps', () => {
    const decisions = TRAFFIC_POLICY_CASES.flatMap(decideAll);
    expect([...new Set<string>(decisions.map(({ reason }) => reason)), 'too_many_steps'].toSorted()).toEqual(
      TRAFFIC_REASONS.toSorted(),
    );
  });

  it.each(UNREADABLE_CASES.map((one) => [one.what, one] as const))('is not applied: %s', (_, { policy, why }) => {
    const refusal = refusalOf(policy);
    const { message = 'it was read', place = '' } = refusal ?? {};
    expect(message.slice(0, why.endsWith('.') ? undefined : why.length)).toBe(why);
    expect(message.startsWith(`${place} `)).toBe(true);
    expect(message.endsWith('.')).toBe(true);
  });

  it('means the same in YAML as in JSON', () => {
    const json = TRAFFIC_POLICY_CASES.filter(({ policy }) => policy.startsWith('{'));
    expect(json.length).toBeGreaterThan(20);
    for (const one of json) {
      const asYaml = { ...one, policy: `# YAML\n---\n${one.policy}` };
      const [source = ''] = Object.keys(one.sources);
      expect(decide(asYaml, source)).toEqual(decide(one, source));
    }
  });
});

describe('a decision', () => {
  it('names the rule, the action and the IP rule that decided', () => {
    const policy = JSON.stringify({
      on_tcp_connect: [
        { actions: [{ type: 'log', config: { metadata: {} } }] },
        {
          name: 'office',
          actions: [{ type: 'restrict-ips', config: { allow: ['10.0.0.0/8'], ip_policies: ['ipp_a'] } }],
        },
      ],
    });
    const one = { what: '', policy, ipPolicies: { ipp_a: ['-10.1.0.0/16'] }, sources: {} };
    expect(decide(one, '10.1.2.3')).toEqual({
      allowed: false,
      reason: 'ip_restricted',
      place: 'on_tcp_connect[1].actions[0]',
      ruleIndex: 1,
      ruleName: 'office',
      actionType: 'restrict-ips',
      ip: {
        allowed: false,
        reason: 'denied',
        policyId: 'ipp_a',
        rule: { id: '-10.1.0.0/16', cidr: '10.1.0.0/16', action: 'deny' },
        unknownPolicyIds: [],
      },
      logs: [{ place: 'on_tcp_connect[0].actions[0]', metadata: {} }],
      logsLeftOut: 0,
      notes: [],
    });
    expect(decide({ ...one, ipPolicies: {} }, '10.1.2.3').ip).toEqual({
      allowed: false,
      reason: 'policy_unknown',
      unknownPolicyIds: ['ipp_a'],
    });
  });

  it('names the rule of the action itself by its place', () => {
    const policy = '{"on_tcp_connect": [{"actions": [{"type": "restrict-ips", "config": {"deny": ["::/0", "::1"]}}]}]}';
    const { ip } = decide({ what: '', policy, sources: {} }, '::1');
    expect(ip?.rule).toEqual({ id: 'deny[1]', cidr: '::1/128', action: 'deny' });
    expect(ip).not.toHaveProperty('policyId');
  });

  it('notes what failed and what is not enforced', () => {
    const policy = `on_tcp_connect:
  - expressions: ["int(conn.client_ip) > 1"]
    actions: [{ type: log, config: { metadata: {} } }]
  - actions: [{ type: restrict-ips, config: { enforce: false, allow: [10.0.0.0/8] } }]
  - actions: [{ type: log, config: { metadata: { a: "\${[1][conn.client_port] == 1}" } } }]
`;
    expect(decide({ what: '', policy, sources: {} }, '127.0.0.1').notes).toEqual([
      'on_tcp_connect[0].expressions[0] failed: int() takes a text such as 42.',
      'on_tcp_connect[1].actions[0] would end the connection (no_rule_allows), but is not enforced.',
      `on_tcp_connect[2].actions[0].config.metadata.a \${ } failed: No such key: index out of bounds, index 49152 >= size 1.`,
    ]);
  });

  it('has at most 4096 bytes of logs and 20 notes, and counts the logs that it leaves out', () => {
    const log = { type: 'log', config: { metadata: { a: 'x'.repeat(1_200), b: `\${int(conn.client_ip)}` } } };
    const policy = JSON.stringify({ on_tcp_connect: Array(12).fill({ actions: [log] }) });
    const { logs, logsLeftOut, notes } = decide({ what: '', policy, sources: {} }, '127.0.0.1');
    expect(logs.length).toBe(3);
    expect(JSON.stringify(logs).length).toBeLessThanOrEqual(4_096);
    expect(logsLeftOut).toBe(9);
    const restrict = { type: 'restrict-ips', config: { enforce: false } };
    const many = JSON.stringify({ on_tcp_connect: Array(30).fill({ actions: [restrict] }) });
    expect(decide({ what: '', policy: many, sources: {} }, '127.0.0.1').notes.length).toBe(20);
    expect(notes.length).toBeLessThanOrEqual(20);
  });

  it('has at most 4096 bytes of small logs, and fills them to the last byte that fits', () => {
    const policy = JSON.stringify({
      on_tcp_connect: Array(200).fill({ actions: [{ type: 'log', config: { metadata: {} } }] }),
    });
    const { logs, logsLeftOut } = decide({ what: '', policy, sources: {} }, '127.0.0.1');
    const bytes = JSON.stringify(logs).length;
    expect(bytes).toBeLessThanOrEqual(4_096);
    expect(bytes + JSON.stringify(logs.at(-1)).length + 1).toBeGreaterThan(4_096);
    expect(logs.length + logsLeftOut).toBe(200);
  });

  it('says only what every database and every log can hold', () => {
    const metadata = { 'a\0': `\0 \${'\\x00'} \${'\u{1f600}'.split('')[0]}`, b: ['\ud83d'] };
    const policy = JSON.stringify({
      on_tcp_connect: [
        { name: `\0${'n'.repeat(300)}`, actions: [{ type: 'log', config: { metadata } }, { type: 'deny' }] },
      ],
    });
    const { logs, ruleName } = decide({ what: '', policy, sources: {} }, '127.0.0.1');
    expect(logs[0]?.metadata).toEqual({ 'a\ufffd': '\ufffd \ufffd \ufffd', b: ['\ufffd'] });
    expect(ruleName).toBe(`\ufffd${'n'.repeat(254)}`);
  });

  it('notes a time that is out of range, and what takes 60,000 characters in few', () => {
    const log = (text: string) => ({
      actions: [{ type: 'log', config: { metadata: { [`k${'k'.repeat(1_000)}`]: text } } }],
    });
    const policy = JSON.stringify({
      on_tcp_connect: [
        log(`\${conn.ts.start + duration('99999999999h')}`),
        log(`\${{'a': 1}['${'b'.repeat(2_000)}']}`),
      ],
    });
    const { logs, notes } = decide({ what: '', policy, sources: {} }, '127.0.0.1');
    expect(logs.map(({ metadata }) => Object.values(metadata as object))).toEqual([[''], ['']]);
    expect(notes[0]).toMatch(/^on_tcp_connect\[0\].* failed: Invalid time value\.$/);
    expect(notes[1]?.length).toBeLessThan(400);
  });

  it('knows the IP policies that a policy names', () => {
    const restrict = (...ip_policies: string[]) => ({ actions: [{ type: 'restrict-ips', config: { ip_policies } }] });
    const text = JSON.stringify({
      on_tcp_connect: [restrict('ipp_a', 'ipp_b'), restrict(), restrict('ipp_c', 'ipp_a')],
    });
    expect(readTrafficPolicy(text).ipPolicyIds).toEqual(['ipp_a', 'ipp_b', 'ipp_c']);
  });
});

it.each([
  ["conn.client_ip == '2001:DB8::7'", "'2001:db8::7'"],
  ["conn.client_ip in ['192.0.2.1', '2001:db8:0:0::7']", "'2001:db8::7'"],
  ["'::ffff:192.0.2.1' != conn.client_ip", "'192.0.2.1'"],
])('a note says that %s compares with an address that no connection has', (expression, written) => {
  const policy = readTrafficPolicy(
    JSON.stringify({ on_tcp_connect: [{ expressions: [expression], actions: [{ type: 'deny' }] }] }),
  );
  const { notes } = decideTcpConnect(policy, connectionFrom('2001:db8::7'), new Map());
  expect(notes).toEqual([expect.stringContaining(`on_tcp_connect[0].expressions[0] compares with`)]);
  expect(notes[0]).toContain(`write ${written}`);
});
