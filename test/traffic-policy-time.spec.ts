import { describe, expect, it } from '@jest/globals';
import { parseAddress } from '../src/rules/ip-rules/address.js';
import { decideTcpConnect, type TcpConnection } from '../src/rules/traffic-policy/tcp-connect.js';
import { readTrafficPolicy, type TrafficPolicy } from '../src/rules/traffic-policy/traffic-policy.js';
import { UnreadablePolicy } from '../src/rules/traffic-policy/unreadable-policy.js';

const MAX_BYTES = 256 * 1024;
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

const numbers = (count: number): string => `[${Array.from({ length: count }, (_, n) => n).join(',')}]`;
const texts = (count: number): string => `[${Array.from({ length: count }, (_, n) => `'10.0.0.${n}/32'`).join(',')}]`;
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

/** The largest policy of a kind that is read. */
async function largest(policyOf: (size: number) => string): Promise<TrafficPolicy> {
  let [least, most] = [1, 5_000];
  while (least < most) {
    const middle = Math.ceil((least + most) / 2);
    if ((await refusalOf(policyOf(middle))) === 'it was read') least = middle;
    else most = middle - 1;
  }
  return readTrafficPolicy(policyOf(least));
}

/** The median of many decisions, since a machine that others use stops a process at any time. */
function medianMs(policy: TrafficPolicy): number {
  const times = Array.from({ length: 25 }, () => {
    const before = performance.now();
    decide(policy);
    return performance.now() - before;
  });
  return times.sort((a, b) => a - b)[12] ?? Number.NaN;
}

describe('a hostile policy', () => {
  it.each<[what: string, policyOf: (size: number) => string]>([
    ['all', (size) => rulesOf([`${numbers(size)}.all(x, x >= 0)`])],
    ['all in all', (size) => rulesOf([`${numbers(size)}.all(x, ${numbers(30)}.all(y, y >= 0 && x >= 0))`])],
    ['lists in all', (size) => rulesOf([`${numbers(size)}.all(x, ${numbers(100)} == ${numbers(100)})`])],
    ['in', (size) => rulesOf([`${numbers(size)}.all(x, !(-1 in ${numbers(400)}))`])],
    ['map and filter', (size) => rulesOf([`${numbers(size)}.map(x, x).map(x, [x]).filter(x, x[0] > 0).size() >= 0`])],
    ['lists that are made', (size) => rulesOf([`${numbers(size)}.map(x, ${numbers(100)}).size() >= 0`])],
    [
      'maps',
      (size) => rulesOf([`${numbers(size)}.all(x, {${texts(50).slice(1, -1).replaceAll(',', ':1,')}:1} != {})`]),
    ],
    [
      'texts that are joined',
      (size) => rulesOf([`${numbers(size)}.map(x, ${long(100)} + string(x)).join(',').size() > 0`]),
    ],
    ['texts that are counted', (size) => rulesOf([`${numbers(size)}.all(x, size(${long(5_000)}) > 1)`])],
    [
      'texts that are split',
      (size) => rulesOf([`${numbers(size)}.all(x, 'a,a,a,a,a,a,a,a,a,a,a,a'.split(',').size() > 0)`]),
    ],
    ['texts in the other case', (size) => rulesOf([`${numbers(size)}.all(x, ${long(500)}.upper() != '')`])],
    ['errors in exists', (size) => rulesOf([`${numbers(size)}.exists(x, 1 / 0 == x) || true`])],
    ['errors in or', (size) => rulesOf([`${Array(Math.min(size, 190)).fill('1 / 0 == 1').join(' || ')} || true`])],
    ['errors of rules', (size) => rulesOf(Array(Math.min(size, 1_000)).fill('1 / 0 == 1'))],
    ['networks', (size) => rulesOf([`inCidrRanges(conn.client_ip, ${texts(size)})`])],
    [
      'networks that are computed',
      (size) => rulesOf([`${numbers(size)}.all(x, !inCidrRange(string(x) + '::', string(x) + '::/16'))`]),
    ],
    ['patterns', (size) => rulesOf([`${numbers(size)}.all(x, !conn.client_ip.matches('(a*)*(.*)*[5-6:]*x'))`])],
    [
      'patterns with many states',
      (size) => rulesOf([`${numbers(size)}.all(x, !conn.client_ip.matches('[0-9a-f:]*[0-9a-f]{90}x'))`]),
    ],
    ['time zones', (size) => rulesOf([`${numbers(size)}.all(x, conn.ts.start.getDayOfYear('Europe/Berlin') >= 0)`])],
    ['times', (size) => rulesOf([`${numbers(size)}.all(x, timestamp('2023-12-31T00:00:00+01:00') < conn.ts.start)`])],
    ['durations', (size) => rulesOf([`${numbers(size)}.all(x, duration('${'1s'.repeat(15)}') < duration('100h'))`])],
    ['rules', (size) => rulesOf(Array(Math.min(size, 1_700)).fill('true'))],
    ['rules that do not match', (size) => rulesOf(Array(Math.min(size, 1_700)).fill("conn.client_ip == '192.0.2.1'"))],
    [
      'logs',
      (size) =>
        JSON.stringify({
          on_tcp_connect: Array(Math.min(size, 2_500)).fill({
            actions: [{ type: 'log', config: { metadata: { a: `\${conn.client_ip} \${conn.ts.start}` } } }],
          }),
        }),
    ],
  ])('that is as large as it can be takes less than 5 ms: %s', async (_, policyOf) => {
    expect(medianMs(await largest(policyOf))).toBeLessThan(5);
  });

  it('of 256 KiB is read in less than a second', async () => {
    const fill = (text: string): string => text.repeat(Math.floor(MAX_BYTES / text.length));
    const hostile = [
      `on_tcp_connect:\n${fill('  - expressions: [conn.client_port == 1]\n    actions: [type: deny]\n').slice(0, -80)}`,
      `a: [${fill('1,').slice(0, -10)}]`,
      Array.from({ length: 22_000 }, (_, n) => `k${n}: 1`).join('\n'),
      fill('---\n'),
      fill('a:\n'),
      rulesOf(Array(1_000).fill(`[1].all(a, [1].all(b, [1].all(c, [1].all(d, a + b + c + d > 0))))`)),
      rulesOf(Array(1_500).fill('1 == 1')),
    ];
    for (const text of hostile) {
      expect(Buffer.byteLength(text)).toBeLessThanOrEqual(MAX_BYTES);
      const before = performance.now();
      await refusalOf(text);
      expect(performance.now() - before).toBeLessThan(1_000);
    }
  });
});

describe('a real policy', () => {
  it.each<[what: string, expressions: readonly string[]]>([
    ['one address', ["conn.client_ip == '192.168.1.200'"]],
    ['networks', ["inCidrRanges(conn.client_ip, ['66.249.66.1/24', '2001:4860::/32'])"]],
    ['hours', ["conn.ts.start.getHours('Europe/Berlin') < 8 || conn.ts.start.getHours('Europe/Berlin') >= 18"]],
    [
      'several rules',
      ["!(conn.client_ip in ['98.35.32.113'])", 'conn.client_port < 1024', "conn.client_ip.matches('^10[.]')"],
    ],
  ])('is decided within a tenth of a millisecond at the median: %s', async (_, expressions) => {
    const policy = await readTrafficPolicy(rulesOf(expressions));
    for (let n = 0; n < 500; n += 1) decide(policy);
    expect(medianMs(policy)).toBeLessThan(0.1);
  });

  it('of 1,000 rules takes less than 5 ms, and none too many steps', async () => {
    const rules = Array.from(
      { length: 1_000 },
      (_, n) => `inCidrRange(conn.client_ip, '10.${n >> 8}.${n & 255}.0/24')`,
    );
    const policy = await readTrafficPolicy(rulesOf(rules));
    expect(decide(policy)).toMatchObject({ allowed: true, reason: 'no_action_ends' });
    expect(medianMs(policy)).toBeLessThan(5);
  });
});
