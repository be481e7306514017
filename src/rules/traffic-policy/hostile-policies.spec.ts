import { describe, expect, it } from '@jest/globals';
import { parseAddress } from '../ip-rules/address.js';
import { decideTcpConnect, type TcpConnection } from './tcp-connect.js';
import { readTrafficPolicy, type TrafficPolicy } from './traffic-policy.js';
import { UnreadablePolicy } from './unreadable-policy.js';

/** The longest spelling of an address. */
const CLIENT = '2001:db8:1111:2222:3333:4444:5555:6666';

function connectionFrom(source: string): TcpConnection {
  const address = parseAddress(source);
  if (address === undefined) throw new Error(`${source} is not an address`);
  const startedAtMs = Date.parse('2026-03-04T09:30:15Z');
  const server = { address, port: 10_022 };
  return { client: { address, port: 49_152 }, server, startedAtMs, nowMs: startedAtMs, endpointId: 'edgtcp_a' };
}

const decide = (policy: TrafficPolicy) => decideTcpConnect(policy, connectionFrom(CLIENT), new Map());

/** A policy that goes through all its rules. */
const rulesOf = (expressions: readonly string[]): string =>
  JSON.stringify({
    on_tcp_connect: expressions.map((expression) => ({
      expressions: [expression],
      actions: [{ type: 'restrict-ips', config: { enforce: false, allow: ['::/0'] } }],
    })),
  });

/** A policy with actions of `log` whose metadata are such a text. */
const logging = (text: string, count: number): string =>
  JSON.stringify({
    on_tcp_connect: [{ actions: Array(count).fill({ type: 'log', config: { metadata: { a: text } } }) }],
  });

const numbers = (count: number): string => `[${Array.from({ length: count }, (_, n) => n).join(',')}]`;
const long = (count: number): string => `'${'a'.repeat(count)}'`;

function refusalOf(text: string): string {
  try {
    readTrafficPolicy(text);
    return 'it was read';
  } catch (error) {
    if (error instanceof UnreadablePolicy) return error.message;
    throw error;
  }
}

describe('a hostile policy', () => {
  it.each<[what: string, expression: string, why: RegExp]>([
    [
      'a sum of a million',
      `${numbers(1_000)}.map(x, ${numbers(1_000)}.filter(y, x + y > 0)).size() > 0`,
      /takes up to \d{7,} steps; the maximum is 25000/,
    ],
    [
      'all in all in all',
      `${numbers(100)}.all(x, ${numbers(100)}.all(y, ${numbers(100)}.all(z, x < y || y < z)))`,
      /takes up to \d{7,} steps/,
    ],
    [
      'a text that doubles',
      `[${long(100)}]${Array.from({ length: 40 }, () => '.map(x, x + x)').join('')}.size() > 0`,
      /is not an expression: Exceeded maxDepth|takes up to/,
    ],
    [
      'a text that doubles 20 times',
      `[${long(100)}]${Array.from({ length: 20 }, () => '.map(x, x + x)').join('')}.size() > 0`,
      /takes up to \d{7,} steps/,
    ],
    [
      'a list that doubles',
      `[[1]]${Array.from({ length: 20 }, () => '.map(x, x + x)').join('')}.size() > 0`,
      /takes up to \d{6,} steps/,
    ],
    ['errors that are absorbed', `${numbers(2_000)}.exists(x, 1 / 0 == x) || true`, /takes up to \d{6,} steps/],
    [
      'a search that begins again and again',
      `${long(7_500)}.contains(${long(7_500)} + 'b')`,
      /takes up to \d{6,} steps/,
    ],
    [
      'a duration without end',
      `duration('${'1s'.repeat(5_000)}') > duration('1s')`,
      /calls duration with up to 10000 characters; the maximum is 64/,
    ],
    ['a pattern without end, on a long text', `${long(10_000)}.matches('(a*)*(a*)*b')`, /takes up to \d{5,} steps/],
    [
      'a pattern that is copied',
      "'a'.matches('((a{100}){100}){100}')",
      /has a pattern that is too large: it has more than 256 states; repeat less/,
    ],
    [
      'a chain of or',
      Array(300).fill('conn.client_port == 1').join(' || '),
      /is nested more than 200 deep; write a list with in, or more expressions/,
    ],
    ['a sum of terms', `1${' + 1'.repeat(4_000)} > 0`, /is nested more than 200 deep/],
    ['signs of not', `${'!'.repeat(16_000)}true`, /is not an expression: it is nested too deep/],
    ['parentheses', `${'('.repeat(5_000)}true${')'.repeat(5_000)}`, /is not an expression: Exceeded maxDepth/],
    ['lists in lists', `${'['.repeat(100)}1${']'.repeat(100)}.size() == 1`, /is not an expression: Exceeded maxDepth/],
    ['a number of 16,000 digits', `${'9'.repeat(16_000)} / 7 > 1`, /has an integer of more than 64 bits/],
  ])('is refused: %s', (_, expression, why) => {
    expect(refusalOf(rulesOf([expression]))).toMatch(why);
  });

  it.each<[what: string, policy: string, why: RegExp]>([
    [
      'a text of more than 16 KiB',
      ' '.repeat(16_385),
      /^the policy is 16385 bytes long; one of at most 16384 is applied, or 8192 as YAML\. Put long lists into IP policies\.$/,
    ],
    ['a text of less than 16 Ki characters', `{"é": "${'é'.repeat(8_190)}"}`, /is 16390 bytes long/],
    ['lists of YAML', '['.repeat(8_192), /nesting exceeded maxDepth/],
    ['keys of YAML', '? '.repeat(4_096), /nesting exceeded maxDepth/],
    [
      'YAML of more than 8 KiB',
      `# ${'a'.repeat(8_192)}\non_tcp_connect: []`,
      /is 8213 bytes long, and not JSON \(Unexpected token '#'\); YAML may have at most 8192; send it as JSON/,
    ],
    ['documents of YAML', '---\n'.repeat(2_000), /^the policy has more than one document of YAML; send one\.$/],
    [
      'aliases of YAML',
      `a: &a [1, 1]\n${Array.from({ length: 30 }, (_, n) => `b${n}: [*a, *a]`).join('\n')}`,
      /^the policy has an anchor \(&\) of YAML in line 1; put it in quotes\.$/,
    ],
    [
      'lists of JSON',
      `{"on_tcp_connect": ${'['.repeat(8_000)}${']'.repeat(8_000)}}`,
      /on_tcp_connect\[0\] must be an object/,
    ],
    [
      'metadata in metadata',
      rulesOf([]).replace(
        '[]',
        `[{"actions": [{"type": "log", "config": {"metadata": {"a": ${'['.repeat(20)}${']'.repeat(20)}}}}]}]`,
      ),
      /is nested more than 8 deep/,
    ],
    [
      'metadata nested thousands deep',
      rulesOf([]).replace(
        '[]',
        `[{"actions": [{"type": "log", "config": {"metadata": {"a": ${'['.repeat(8_000)}${']'.repeat(8_000)}}}}]}]`,
      ),
      /config.metadata is nested more than 8 deep/,
    ],
    [
      'types without end, which cel-js would keep for good',
      rulesOf(['[[[[1]]]].size() == 1']),
      /has lists or maps in each other more than 3 deep/,
    ],
    [
      'more IP policies than a policy can name',
      JSON.stringify({
        on_tcp_connect: [
          {
            actions: [
              { type: 'restrict-ips', config: { ip_policies: Array.from({ length: 21 }, (_, n) => `ipp_${n}`) } },
            ],
          },
        ],
      }),
      /^the policy names 21 IP policies; the maximum is 20\.$/,
    ],
    [
      'a long tag of YAML',
      `a: !${'%41'.repeat(2_500)} b`,
      /^the policy has a tag \(!\) of YAML in line 1; put it in quotes\.$/,
    ],
    [
      'many expressions in metadata',
      logging(`\${1}`.repeat(40), 3),
      /metadata\.a \${ } makes the policy have more than 100 expressions, those in \${ } included; compare with a list/,
    ],
    [
      'many patterns',
      rulesOf(Array.from({ length: 50 }, (_, n) => `conn.client_ip.matches('${n}.{100}')`)),
      /makes the patterns of the policy larger than 2048 states/,
    ],
    [
      'many time zones',
      rulesOf(
        Array.from(
          { length: 12 },
          (_, n) => `conn.ts.start.getHours('Etc/GMT+${n + 1}') + conn.ts.start.getHours('Etc/GMT-${n + 1}') > 0`,
        ),
      ),
      /makes the policy name more than 8 time zones/,
    ],
    [
      'many networks',
      JSON.stringify({
        on_tcp_connect: [
          {
            actions: Array(3).fill({ type: 'restrict-ips', config: { allow: ['::1'], deny: Array(199).fill('::1') } }),
          },
        ],
      }),
      /actions\[2\].config makes the policy have 600 networks in restrict-ips; the maximum is 500; put more into IP/,
    ],
    [
      'a long name of an IP policy, which answers to gateways would repeat',
      JSON.stringify({
        on_tcp_connect: [{ actions: [{ type: 'restrict-ips', config: { ip_policies: ['ipp_', 'x'.repeat(65)] } }] }],
      }),
      /config.ip_policies\[1\] must be the id of an IP policy\.$/,
    ],
  ])('is refused: %s', (_, policy, why) => {
    expect(refusalOf(policy)).toMatch(why);
  });

  it('tells a cache that it takes more memory than its text, but few megabytes', () => {
    const { memoryBytes } = readTrafficPolicy(rulesOf([`size(${numbers(3_000)}) > 1`]));
    expect(memoryBytes).toBeGreaterThan(600_000);
    for (const text of [rulesOf([`size([${'1,'.repeat(8_000)}1]) > 1`]), `${logging('a', 1)}${' '.repeat(16_000)}`]) {
      expect(readTrafficPolicy(text).memoryBytes).toBeLessThan(3_500_000);
    }
  });

  it('that takes too many steps in all is closed, where the steps end', () => {
    const expression = `inCidrRange(conn.client_ip, '10.0.0.0/8') || ${numbers(30)}.exists(x, ${numbers(30)}.exists(y, x < -1 && y < -1))`;
    const decideRules = (count: number) => decide(readTrafficPolicy(rulesOf(Array(count).fill(expression))));
    expect(decideRules(3)).toMatchObject({ allowed: true, reason: 'no_action_ends' });
    expect(decideRules(20)).toMatchObject({
      allowed: false,
      reason: 'too_many_steps',
      place: 'on_tcp_connect[3].expressions[0]',
    });
  });
});

describe('a real policy', () => {
  it('of a hundred plain rules is decided', () => {
    const rule = (n: number) => ({ expressions: [`conn.client_ip=='10.0.0.${n}'`], actions: [{ type: 'deny' }] });
    const text = JSON.stringify({ on_tcp_connect: Array.from({ length: 100 }, (_, n) => rule(n)) });
    expect(decide(readTrafficPolicy(text))).toMatchObject({ allowed: true, reason: 'no_action_ends' });
  });
});
