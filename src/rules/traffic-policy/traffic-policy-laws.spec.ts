import { BlockList, isIPv4 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Address, parseAddress } from '../ip-rules/address.js';
import { compilePolicy } from '../ip-rules/ip-policy.js';
import { decideTcpConnect } from './tcp-connect.js';
import { readTrafficPolicy } from './traffic-policy.js';

/** A condition with its text in CEL, and what it means for a client, read naively. */
interface Condition {
  readonly text: string;
  readonly holds: (client: Client) => boolean;
}
interface Client {
  readonly ip: string;
  readonly port: number;
}

/** Few addresses and networks, so that they meet often. */
const ipv4 = fc.tuple(fc.constantFrom(10, 127), fc.integer({ min: 0, max: 3 })).map(([a, d]) => `${a}.0.0.${d}`);
const ipv6 = fc.integer({ min: 1, max: 4 }).map((n) => `2001:db8::${n}`);
const ip = fc.oneof({ arbitrary: ipv4, weight: 3 }, { arbitrary: ipv6, weight: 1 });
const network = fc.oneof(
  fc.tuple(ipv4, fc.constantFrom(0, 8, 30, 31, 32)).map(([address, prefix]) => `${address}/${prefix}`),
  fc.tuple(ipv6, fc.constantFrom(0, 32, 126, 127, 128)).map(([address, prefix]) => `${address}/${prefix}`),
);
const clients = fc.record({ ip, port: fc.integer({ min: 1, max: 6 }) });

function isIn(ip: string, networks: readonly string[]): boolean {
  return networks.some((text) => {
    const [address = '', prefix = ''] = text.split('/');
    const list = new BlockList();
    list.addSubnet(address, Number(prefix), isIPv4(address) ? 'ipv4' : 'ipv6');
    return isIPv4(address) === isIPv4(ip) && list.check(ip, isIPv4(ip) ? 'ipv4' : 'ipv6');
  });
}

const list = (items: readonly string[]): string => `[${items.map((item) => `'${item}'`).join(', ')}]`;

const leaf: fc.Arbitrary<Condition> = fc.oneof(
  ip.map((one) => ({ text: `conn.client_ip == '${one}'`, holds: (client: Client) => client.ip === one })),
  fc.array(ip, { minLength: 1, maxLength: 3 }).map((some) => ({
    text: `conn.client_ip in ${list(some)}`,
    holds: (client: Client) => some.includes(client.ip),
  })),
  network.map((one) => ({
    text: `inCidrRange(conn.client_ip, '${one}')`,
    holds: (client: Client) => isIn(client.ip, [one]),
  })),
  fc.array(network, { minLength: 1, maxLength: 3 }).map((some) => ({
    text: `inCidrRanges(conn.client_ip, ${list(some)})`,
    holds: (client: Client) => isIn(client.ip, some),
  })),
  fc.array(ip, { minLength: 1, maxLength: 3 }).map((some) => ({
    text: `${list(some)}.exists(x, x == conn.client_ip || x.startsWith('127.'))`,
    holds: (client: Client) => some.some((one) => one === client.ip || one.startsWith('127.')),
  })),
  fc.array(fc.integer({ min: 1, max: 6 }), { minLength: 1, maxLength: 4 }).map((some) => ({
    text: `[${some.join(', ')}].filter(x, x < conn.client_port).map(x, x + 1).size() > 1`,
    holds: (client: Client) => some.filter((one) => one < client.port).length > 1,
  })),
  fc.tuple(fc.constantFrom('<', '<=', '==', '!=', '>=', '>'), fc.integer({ min: 1, max: 6 })).map(([sign, port]) => ({
    text: `conn.client_port ${sign} ${port}`,
    holds: (client: Client) => compares(client.port, sign, port),
  })),
  ip.map((one) => ({
    text: `conn.client_ip.contains('${one.slice(-3)}')`,
    holds: (client: Client) => client.ip.includes(one.slice(-3)),
  })),
  fc.constantFrom('^10', '[1-2]$', ':', '0.{2}1', '^(10|2001)').map((pattern) => ({
    text: `conn.client_ip.matches('${pattern}')`,
    holds: (client: Client) => new RegExp(pattern).test(client.ip),
  })),
);

function compares(a: number, sign: string, b: number): boolean {
  if (sign === '==') return a === b;
  if (sign === '!=') return a !== b;
  return sign.startsWith('<') ? a < b || (sign === '<=' && a === b) : a > b || (sign === '>=' && a === b);
}

const { condition } = fc.letrec<{ condition: Condition }>((tie) => ({
  condition: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    leaf,
    tie('condition').map(({ text, holds }) => ({ text: `!(${text})`, holds: (client: Client) => !holds(client) })),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => ({
      text: `(${a.text}) && (${b.text})`,
      holds: (client: Client) => a.holds(client) && b.holds(client),
    })),
    fc.tuple(tie('condition'), tie('condition')).map(([a, b]) => ({
      text: `(${a.text}) || (${b.text})`,
      holds: (client: Client) => a.holds(client) || b.holds(client),
    })),
    fc.tuple(tie('condition'), tie('condition'), tie('condition')).map(([a, b, c]) => ({
      text: `(${a.text}) ? (${b.text}) : (${c.text})`,
      holds: (client: Client) => (a.holds(client) ? b.holds(client) : c.holds(client)),
    })),
  ),
}));

const ids = ['ipp_a', 'ipp_b', 'ipp_gone'];
const networks = fc.array(network, { maxLength: 3 });
const restrict = fc.record({
  enforce: fc.boolean(),
  allow: networks,
  deny: networks,
  ip_policies: fc.uniqueArray(fc.constantFrom(...ids), { maxLength: 2 }),
});
const action = fc.oneof(
  fc.constantFrom({ type: 'deny' as const }, { type: 'close-connection' as const }),
  fc.integer({ max: 9, min: 0 }).map((n) => ({ type: 'log' as const, config: { metadata: { n } } })),
  restrict.map((config) => ({ type: 'restrict-ips' as const, config })),
);
const rules = fc.array(
  fc.record({
    conditions: fc.array(condition, { maxLength: 2 }),
    actions: fc.array(action, { minLength: 1, maxLength: 3 }),
  }),
  { maxLength: 5 },
);
type Rules = typeof rules extends fc.Arbitrary<infer Value> ? Value : never;
const ipPolicies = fc.record({ ipp_a: restrict, ipp_b: restrict });
type IpPolicies = typeof ipPolicies extends fc.Arbitrary<infer Value> ? Value : never;

/** What happens, read rule by rule and action by action, with the networks of Node. */
function naively(policy: Rules, policies: IpPolicies, client: Client) {
  const logs: number[] = [];
  for (const [index, { conditions, actions }] of policy.entries()) {
    if (!conditions.every(({ holds }) => holds(client))) continue;
    for (const [n, one] of actions.entries()) {
      if (one.type === 'log') logs.push(one.config.metadata.n);
      else if (one.type !== 'restrict-ips' || (one.config.enforce && !isLetIn(one.config, policies, client))) {
        return { allowed: false, place: `on_tcp_connect[${index}].actions[${n}]`, logs };
      }
    }
  }
  return { allowed: true, place: undefined, logs };
}

function isLetIn(
  { allow, deny, ip_policies }: { allow: string[]; deny: string[]; ip_policies: string[] },
  policies: IpPolicies,
  { ip }: Client,
): boolean {
  const named = ip_policies.map((id) => new Map(Object.entries(policies)).get(id));
  const allowed = [...allow, ...named.flatMap((one) => one?.allow ?? [])];
  const denied = [...deny, ...named.flatMap((one) => one?.deny ?? [])];
  return !named.includes(undefined) && isIn(ip, allowed) && !isIn(ip, denied);
}

const compiled = (policies: IpPolicies) =>
  new Map(
    Object.entries(policies).map(([id, { allow, deny }]) => {
      const rulesOf = (cidrs: string[], action: 'allow' | 'deny') => cidrs.map((cidr) => ({ id: cidr, cidr, action }));
      return [id, compilePolicy([...rulesOf(allow, 'allow'), ...rulesOf(deny, 'deny')])] as const;
    }),
  );

const textOf = (policy: Rules): string =>
  JSON.stringify({
    on_tcp_connect: policy.map(({ conditions, actions }) => ({
      expressions: conditions.map(({ text }) => text),
      actions,
    })),
  });

const addressOf = (text: string): Address => parseAddress(text) ?? { bits: 32, value: 0n };

function decide(policy: Rules, policies: IpPolicies, { ip, port }: Client) {
  const client = { address: addressOf(ip), port };
  const connection = { client, server: client, startedAtMs: 0, nowMs: 0, endpointId: 'edgtcp_a' };
  return decideTcpConnect(readTrafficPolicy(textOf(policy)), connection, compiled(policies));
}

describe('every policy', () => {
  it('does what a naive reading does', () => {
    fc.assert(
      fc.property(rules, ipPolicies, clients, (policy, policies, client) => {
        const { allowed, place, logs } = decide(policy, policies, client);
        const numbers = logs.map(({ metadata }) => (metadata as { n: number }).n);
        expect({ allowed, place, logs: numbers }).toEqual(naively(policy, policies, client));
      }),
      { numRuns: 500 },
    );
  });

  it('lets in nobody more when it has a rule more', () => {
    fc.assert(
      fc.property(rules, rules, fc.nat(), ipPolicies, clients, (policy, more, at, policies, client) => {
        const longer = [...policy.slice(0, at), ...more, ...policy.slice(at)];
        fc.pre(decide(longer, policies, client).allowed);
        expect(decide(policy, policies, client).allowed).toBe(true);
      }),
      { numRuns: 100 },
    );
  });
});
