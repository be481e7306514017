import { BlockList, isIPv4 } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Address, parseAddress, parseSource } from './address.js';
import { compilePolicy, decidingRule, type IpRule } from './ip-policy.js';
import { decideSource, type IpRestriction } from './ip-restriction.js';
import { compileNetwork, parseCidr } from './network.js';

/** Rules as `+10.0.0.0/8` (allow) and `-10.1.0.0/16` (deny), named by their text. */
const rulesOf = (texts: readonly string[]): IpRule[] =>
  texts.map((text) => ({
    id: text,
    cidr: parseCidr(text.slice(1), 'cidr'),
    action: text.startsWith('+') ? ('allow' as const) : ('deny' as const),
  }));

const addressOf = (text: string): Address => {
  const address = parseSource(text);
  if (address === undefined) throw new Error(`${text} is not an address`);
  return address;
};

const compiled = (policies: Readonly<Record<string, readonly string[]>>) =>
  new Map(Object.entries(policies).map(([id, rules]) => [id, compilePolicy(rulesOf(rules))]));

const decide = (
  policies: Readonly<Record<string, readonly string[]>>,
  source: string,
  restriction: IpRestriction | null = { enabled: true, ip_policy_ids: Object.keys(policies) },
) => {
  const { rule, ...rest } = decideSource(restriction, compiled(policies), addressOf(source));
  return { ...rest, ...(rule && { rule: rule.id }) };
};

const ALL = '0.0.0.0/0';

describe('decisions', () => {
  it.each<[what: string, policies: Record<string, string[]>, source: string, expected: string]>([
    ['no policy', {}, '192.0.2.7', 'no_rule_allows'],
    ['a policy without rules', { a: [] }, '192.0.2.7', 'no_rule_allows'],
    ['a rule that allows', { a: ['+192.0.2.0/24'] }, '192.0.2.7', 'allowed by a +192.0.2.0/24'],
    ['a rule that denies', { a: ['-192.0.2.0/24'] }, '192.0.2.7', 'denied by a -192.0.2.0/24'],
    ['denied inside allowed', { a: ['+10.0.0.0/8', '-10.1.0.0/16'] }, '10.1.2.3', 'denied by a -10.1.0.0/16'],
    ['allowed inside denied', { a: ['-10.0.0.0/8', '+10.1.0.0/16'] }, '10.1.2.3', 'denied by a -10.0.0.0/8'],
    ['denied before allowed', { a: ['-10.1.2.3', '+10.1.2.3'] }, '10.1.2.3', 'denied by a -10.1.2.3'],
    ['two that allow: the smaller network', { a: [`+${ALL}`, '+10.0.0.0/8'] }, '10.1.2.3', 'allowed by a +10.0.0.0/8'],
    ['any policy denies', { a: ['+10.0.0.0/8'], b: ['-10.1.0.0/16'] }, '10.1.2.3', 'denied by b -10.1.0.0/16'],
    ['the first policy that denies', { a: [`-${ALL}`], b: ['-10.1.2.3'] }, '10.1.2.3', `denied by a -${ALL}`],
    ['the first policy that allows', { a: [`+${ALL}`], b: ['+10.1.2.3'] }, '10.1.2.3', `allowed by a +${ALL}`],
    ['IPv4 is not in ::/0', { a: ['+::/0'] }, '192.0.2.7', 'no_rule_allows'],
    ['IPv6', { a: ['+::/0', '-2001:db8::/32'] }, '2001:db8::1', 'denied by a -2001:db8::/32'],
    ['a mapped source', { a: ['+192.0.2.7'] }, '::ffff:192.0.2.7', 'allowed by a +192.0.2.7'],
    ['a mapped rule', { a: ['-::ffff:192.0.2.0/120'] }, '192.0.2.7', 'denied by a -::ffff:192.0.2.0/120'],
    ['a source with its port', { a: ['+192.0.2.7'] }, '192.0.2.7:50312', 'allowed by a +192.0.2.7'],
    ['the last IPv4 address', { a: ['+255.255.255.255'] }, '255.255.255.255', 'allowed by a +255.255.255.255'],
    [
      'the last IPv6 address',
      { a: ['+ffff::/16'] },
      'ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff',
      'allowed by a +ffff::/16',
    ],
  ])('%s', (_, policies, source, expected) => {
    const decision = decide(policies, source);
    const by = decision.rule === undefined ? '' : ` by ${decision.policyId} ${decision.rule}`;
    expect(`${decision.reason}${by}`).toBe(expected);
    expect(decision.allowed).toBe(decision.reason === 'allowed');
    expect(decision.unknownPolicyIds).toEqual([]);
  });

  it('of two rules with one network and action, the older one is named', () => {
    const rules = ['older', 'younger'].map((id) => ({ id, cidr: '10.0.0.0/8', action: 'allow' as const }));
    expect(decidingRule(compilePolicy(rules), addressOf('10.1.2.3'))?.id).toBe('older');
  });
});

describe('a restriction', () => {
  const POLICIES = { a: ['+10.0.0.0/8'], b: ['-10.1.0.0/16'] };
  const of = (...ids: string[]): IpRestriction => ({ enabled: true, ip_policy_ids: ids });

  it('that is absent or disabled lets every address in', () => {
    const none = { allowed: true, reason: 'no_restriction', unknownPolicyIds: [] };
    expect(decide(POLICIES, '192.0.2.7', null)).toEqual(none);
    expect(decide(POLICIES, '10.1.2.3', { ...of('b', 'x'), enabled: false })).toEqual({
      allowed: true,
      reason: 'restriction_disabled',
      unknownPolicyIds: ['x'],
    });
  });

  it('with a policy that does not exist lets no address in, and names the policy once', () => {
    const decision = { allowed: false, reason: 'policy_unknown', unknownPolicyIds: ['x', 'y'] };
    expect(decide(POLICIES, '10.2.2.3', of('x', 'a', 'y', 'x'))).toEqual(decision);
  });

  it('with such a policy and a rule that denies names the rule', () => {
    expect(decide(POLICIES, '10.1.2.3', of('x', 'a', 'b'))).toEqual({
      allowed: false,
      reason: 'denied',
      rule: '-10.1.0.0/16',
      policyId: 'b',
      unknownPolicyIds: ['x'],
    });
  });
});

describe('laws', () => {
  const octet = fc.constantFrom(0, 1, 127, 128, 255);
  const ipv4 = fc.tuple(octet, octet, octet, octet).map((octets) => octets.join('.'));
  const group = fc.constantFrom('0', '1', '7fff', '8000', 'ffff');
  const ipv6 = fc.tuple(fc.constantFrom('2001', 'fe80'), ...new Array(7).fill(group)).map((groups) => groups.join(':'));
  const lengthOf = (max: number) => fc.oneof(fc.integer({ min: 0, max }), fc.constantFrom(0, 8, 16, 24, max));

  /** The network of an address, by its first address. */
  const networkOf = ([text, length]: readonly [string, number]): string => {
    const { bits, value } = addressOf(text);
    const host = BigInt(bits - length);
    const first = ((value >> host) << host).toString(16).padStart(bits / 4, '0');
    if (bits === 128) return `${first.match(/.{4}/g)?.join(':')}/${length}`;
    return `${first
      .match(/.{2}/g)
      ?.map((byte) => Number.parseInt(byte, 16))
      .join('.')}/${length}`;
  };
  const network = fc.oneof(fc.tuple(ipv4, lengthOf(32)), fc.tuple(ipv6, lengthOf(128))).map(networkOf);
  const rules = fc.array(
    fc.tuple(fc.constantFrom('+', '-'), network).map(([sign, cidr]) => `${sign}${cidr}`),
    { maxLength: 12 },
  );
  const source = fc.oneof(ipv4, ipv6);

  /** Node has IPv4 addresses in ::/0, so each family has a list of its own. */
  function isIn(all: readonly string[], sign: string, address: string): boolean {
    const family = isIPv4(address) ? 'ipv4' : 'ipv6';
    const list = new BlockList();
    for (const text of all.filter((one) => one.startsWith(sign) && one.includes(':') === address.includes(':'))) {
      const [first = '', length] = text.slice(1).split('/');
      list.addSubnet(first, Number(length), family);
    }
    return list.check(address, family);
  }

  it('an address is let in exactly if Node finds it among the allowed networks and not among the denied', () => {
    fc.assert(
      fc.property(rules, rules, source, (first, second, address) => {
        const all = [...first, ...second];
        const isAllowed = isIn(all, '+', address) && !isIn(all, '-', address);
        expect(decide({ first, second }, address).allowed).toBe(isAllowed);
      }),
      { numRuns: 250 },
    );
  });

  /** The rule that decides, by the definition: one look at every rule. */
  function named(all: readonly IpRule[], address: string): IpRule | undefined {
    const { bits, value } = addressOf(address);
    const matches = all.flatMap((rule, age) => {
      const own = compileNetwork(rule.cidr);
      return own.bits === bits && own.value === value >> own.hostBits ? [{ rule, age, size: own.hostBits }] : [];
    });
    const deny = matches.filter(({ rule }) => rule.action === 'deny');
    const candidates = deny.length > 0 ? deny : matches;
    return candidates.sort((a, b) => Number(a.size - b.size) || a.age - b.age)[0]?.rule;
  }

  it('the rule that decides is the smallest and oldest that matches, a rule that denies before all that allow', () => {
    fc.assert(
      fc.property(rules, source, (texts, address) => {
        const all = rulesOf(texts);
        expect(decidingRule(compilePolicy(all), addressOf(address))).toBe(named(all, address));
        const [of] = texts.map((text) => text.slice(1).split('/')[0] ?? '');
        if (of !== undefined) expect(decidingRule(compilePolicy(all), addressOf(of))).toBe(named(all, of));
      }),
      { numRuns: 250 },
    );
  });

  it('every address that Node can read is read', () => {
    fc.assert(fc.property(fc.oneof(fc.ipV4(), fc.ipV6()), (text) => expect(parseAddress(text)).toBeDefined()));
  });
});
