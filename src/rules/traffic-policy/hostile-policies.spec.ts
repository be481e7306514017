import { describe, expect, it } from '@jest/globals';
import { parseAddress } from '../ip-rules/address.js';
import { MAX_TRAFFIC_POLICY_BYTES } from './policy-text.js';
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

async function refusalOf(text: string): Promise<string> {
  try {
    await readTrafficPolicy(text);
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
      `${long(8_000)}.contains(${long(8_000)} + 'b')`,
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
    ['a long expression', `${long(16_384)} == ''`, /is 16392 characters long; the maximum is 16384; use restrict-ips/],
  ])('is refused: %s', async (_, expression, why) => {
    expect(await refusalOf(rulesOf([expression]))).toMatch(why);
  });

  it.each<[what: string, policy: string, why: RegExp]>([
    [
      'a text of more than 256 KiB',
      ' '.repeat(MAX_TRAFFIC_POLICY_BYTES + 1),
      /is 262145 bytes long; the maximum is 262144/,
    ],
    [
      'a text of less than 256 Ki characters',
      `{"é": "${'é'.repeat(MAX_TRAFFIC_POLICY_BYTES / 2)}"}`,
      /is 262154 bytes long/,
    ],
    ['lists of YAML', '['.repeat(16_384), /nesting exceeded maxDepth/],
    ['keys of YAML', '? '.repeat(8_192), /nesting exceeded maxDepth/],
    [
      'YAML of more than 16 KiB',
      `# ${'a'.repeat(16_384)}\non_tcp_connect: []`,
      /is 16405 bytes long, and not JSON \(Unexpected token '#'\); YAML may have at most 16384; send it as JSON/,
    ],
    ['documents of YAML', '---\n'.repeat(4_000), /^the policy has more than one document of YAML; send one\.$/],
    [
      'aliases of YAML',
      `a: &a [1, 1]\n${Array.from({ length: 30 }, (_, n) => `b${n}: [*a, *a]`).join('\n')}`,
      /^the policy has an anchor \(&\) of YAML in line 1; put it in quotes\.$/,
    ],
    [
      'lists of JSON',
      `{"on_tcp_connect": ${'['.repeat(20_000)}${']'.repeat(20_000)}}`,
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
        `[{"actions": [{"type": "log", "config": {"metadata": {"a": ${'['.repeat(20_000)}${']'.repeat(20_000)}}}}]}]`,
      ),
      /config.metadata is nested more than 8 deep/,
    ],
    [
      'types without end, which cel-js would keep for good',
      rulesOf(['[[[[1]]]].size() == 1']),
      /has lists or maps in each other more than 3 deep/,
    ],
    [
      'more IP policies than a decision can look at',
      JSON.stringify({
        on_tcp_connect: [
          {
            actions: [
              { type: 'restrict-ips', config: { ip_policies: Array.from({ length: 401 }, (_, n) => `ipp_${n}`) } },
            ],
          },
        ],
      }),
      /^the policy names 401 IP policies; the maximum is 400\.$/,
    ],
    [
      'a long tag of YAML',
      `a: !${'%41'.repeat(5_000)} b`,
      /^the policy has a tag \(!\) of YAML in line 1; put it in quotes\.$/,
    ],
    [
      'expressions of many parts',
      rulesOf(Array.from({ length: 150 }, () => `1${' + 1'.repeat(100)} > 0`)),
      /\.expressions\[0\] makes the policy larger than 30000 parts; use restrict-ips for long lists\.$/,
    ],
    [
      'many values',
      JSON.stringify({ on_tcp_connect: Array(8_000).fill({ actions: [{ type: 'deny' }] }) }),
      /^the policy has more than 30000 values; write fewer rules, and put long lists into IP policies\.$/,
    ],
    [
      'values and parts of expressions that are many together',
      rulesOf(Array.from({ length: 1_600 }, (_, n) => `conn.client_port == ${n}`)),
      /makes the policy larger than 30000 parts/,
    ],
    [
      'many expressions in metadata',
      logging(`\${1}`.repeat(1_000), 3),
      /metadata\.a \${ } makes the policy have more than 2000 expressions, those in \${ } included; compare with a list/,
    ],
    [
      'expressions of many characters',
      rulesOf(Array(5).fill(`${long(16_000)} == ''`)),
      /on_tcp_connect\[4\].* makes the policy have more than 65536 characters of expressions; use restrict-ips for long/,
    ],
    [
      'many patterns',
      rulesOf(Array.from({ length: 100 }, (_, n) => `conn.client_ip.matches('${n}.{100}')`)),
      /makes the patterns of the policy larger than 4096 states/,
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
            actions: Array(3).fill({ type: 'restrict-ips', config: { allow: ['::1'], deny: Array(999).fill('::1') } }),
          },
        ],
      }),
      /actions\[2\].config makes the policy have 3000 networks in restrict-ips; the maximum is 2000; put more into IP/,
    ],
    [
      'a long name of an IP policy, which answers to gateways would repeat',
      JSON.stringify({
        on_tcp_connect: [{ actions: [{ type: 'restrict-ips', config: { ip_policies: ['ipp_', 'x'.repeat(65)] } }] }],
      }),
      /config.ip_policies\[1\] must be the id of an IP policy\.$/,
    ],
  ])('is refused: %s', async (_, policy, why) => {
    expect(await refusalOf(policy)).toMatch(why);
  });

  it('lets others work while it is read', async () => {
    const text = rulesOf(Array.from({ length: 1_000 }, (_, n) => `conn.client_port == ${n}`));
    let [isRead, turns] = [false, 0];
    const others = (): void => {
      turns += 1;
      if (!isRead) setImmediate(others);
    };
    setImmediate(others);
    await readTrafficPolicy(text).finally(() => {
      isRead = true;
    });
    expect(turns).toBeGreaterThan(5);
  });

  it('tells a cache that it takes more memory than its text, but few megabytes', async () => {
    const { memoryBytes } = await readTrafficPolicy(rulesOf([`size(${numbers(3_000)}) > 1`]));
    expect(memoryBytes).toBeGreaterThan(600_000);
    for (const text of [logging(`\${1}`.repeat(1_000), 2), `${logging('a', 1)}${' '.repeat(262_000)}`]) {
      expect((await readTrafficPolicy(text)).memoryBytes).toBeLessThan(3_500_000);
    }
  });

  it('that takes too many steps in all is closed, where the steps end', async () => {
    const expression = `inCidrRange(conn.client_ip, '10.0.0.0/8') || ${numbers(30)}.exists(x, ${numbers(30)}.exists(y, x < -1 && y < -1))`;
    const decideRules = async (count: number) =>
      decide(await readTrafficPolicy(rulesOf(Array(count).fill(expression))));
    expect(await decideRules(3)).toMatchObject({ allowed: true, reason: 'no_action_ends' });
    expect(await decideRules(100)).toMatchObject({
      allowed: false,
      reason: 'too_many_steps',
      place: 'on_tcp_connect[3].expressions[0]',
    });
  });
});

describe('a real policy', () => {
  it('of a thousand plain rules is decided', async () => {
    const rule = (n: number) => ({
      expressions: [`conn.client_ip=='10.0.${n >> 8}.${n & 255}'`],
      actions: [{ type: 'deny' }],
    });
    const text = JSON.stringify({ on_tcp_connect: Array.from({ length: 1_000 }, (_, n) => rule(n)) });
    expect(decide(await readTrafficPolicy(text))).toMatchObject({ allowed: true, reason: 'no_action_ends' });
  });
});
