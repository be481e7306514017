/**
 * Measures pieces of work that nothing interrupts: to read and to apply a traffic policy of 1 and of 100 rules and hostile
 * ones of many kinds, each as large as it is accepted; and to compile a full ACL.
 */
import { compile } from '../dist/src/rules/bind-rules/acl.js';
import { parseAddress } from '../dist/src/rules/ip-rules/address.js';
import { decideTcpConnect } from '../dist/src/rules/traffic-policy/tcp-connect.js';
import { readTrafficPolicy } from '../dist/src/rules/traffic-policy/traffic-policy.js';
import { middle } from './middle.mjs';

const ROUNDS = 25;
const WARM_UP = 500;
const MAX_BYTES = 16 * 1024;
const MAX_YAML_BYTES = 8 * 1024;
const LARGEST = 4_000;
const GOAL_OF_SMALL = { value: 0.1, unit: 'ms' };
const GOAL_OF_LARGE = { value: 5, unit: 'ms' };

/** The longest spelling of an address. */
const address = parseAddress('2001:db8:1111:2222:3333:4444:5555:6666');
const startedAtMs = Date.parse('2026-03-04T09:30:15Z');
const connection = {
  client: { address, port: 49_152 },
  server: { address, port: 10_022 },
  startedAtMs,
  nowMs: startedAtMs,
  endpointId: 'edgtcp_a',
};
const NO_POLICIES = new Map();
const decide = (policy) => decideTcpConnect(policy, connection, NO_POLICIES);

const policyOf = (actions, expressions = []) => ({ expressions, actions });
const textOf = (rules) => JSON.stringify({ on_tcp_connect: rules });
/** A policy that goes through all its rules. */
const rulesOf = (expressions) =>
  textOf(
    expressions.map((one) => policyOf([{ type: 'restrict-ips', config: { enforce: false, allow: ['::/0'] } }], [one])),
  );
const denies = (count) =>
  textOf(
    Array.from({ length: count }, (_, n) =>
      policyOf([{ type: 'deny' }], [`inCidrRange(conn.client_ip, '10.${n >> 8}.${n & 255}.0/24')`]),
    ),
  );

const numbers = (count) => `[${Array.from({ length: count }, (_, n) => n).join(',')}]`;
const networks = (count) => `[${Array.from({ length: count }, (_, n) => `'10.0.${n >> 8}.${n & 255}/32'`).join(',')}]`;
const long = (count) => `'${'a'.repeat(count)}'`;
const repeated = (expression, count) => rulesOf(Array(Math.min(count, 100)).fill(expression));

/** Each gives a policy of a size; what makes it slow to apply. */
const HOSTILE = {
  all: (size) => rulesOf([`${numbers(size)}.all(x, x >= 0)`]),
  'all in all': (size) => rulesOf([`${numbers(size)}.all(x, ${numbers(30)}.all(y, y >= 0 && x >= 0))`]),
  'lists in all': (size) => rulesOf([`${numbers(size)}.all(x, ${numbers(100)} == ${numbers(100)})`]),
  in: (size) => rulesOf([`${numbers(size)}.all(x, !(-1 in ${numbers(400)}))`]),
  'map and filter': (size) => rulesOf([`${numbers(size)}.map(x, x).map(x, [x]).filter(x, x[0] > 0).size() >= 0`]),
  'lists that are made': (size) => rulesOf([`${numbers(size)}.map(x, ${numbers(100)}).size() >= 0`]),
  maps: (size) => rulesOf([`${numbers(size)}.all(x, {${networks(50).slice(1, -1).replaceAll(',', ':1,')}:1} != {})`]),
  'texts that are joined': (size) =>
    rulesOf([`${numbers(size)}.map(x, ${long(100)} + string(x)).join(',').size() > 0`]),
  'texts that are counted': (size) => rulesOf([`${numbers(size)}.all(x, size(${long(5_000)}) > 1)`]),
  'texts that are split': (size) => rulesOf([`${numbers(size)}.all(x, '${'a,'.repeat(12)}'.split(',').size() > 0)`]),
  'texts in the other case': (size) => rulesOf([`${numbers(size)}.all(x, ${long(500)}.upper() != '')`]),
  'errors in exists': (size) => rulesOf([`${numbers(size)}.exists(x, 1 / 0 == x) || true`]),
  'errors in or': (size) => rulesOf([`${Array(Math.min(size, 190)).fill('1 / 0 == 1').join(' || ')} || true`]),
  'errors of rules': (size) => repeated('1 / 0 == 1', size),
  'networks in a list': (size) => rulesOf([`inCidrRanges(conn.client_ip, ${networks(size)})`]),
  'networks that are computed': (size) =>
    rulesOf([`${numbers(size)}.all(x, !inCidrRange(string(x) + '::', string(x) + '::/16'))`]),
  'networks that are none': (size) =>
    rulesOf([`${numbers(size)}.exists(x, inCidrRange(conn.client_ip, string(x))) || true`]),
  patterns: (size) => rulesOf([`${numbers(size)}.all(x, !conn.client_ip.matches('(a*)*(.*)*[5-6:]*x'))`]),
  'patterns with many states': (size) =>
    rulesOf([`${numbers(size)}.all(x, !conn.client_ip.matches('[0-9a-f:]*[0-9a-f]{90}x'))`]),
  'time zones': (size) => rulesOf([`${numbers(size)}.all(x, conn.ts.start.getDayOfYear('Europe/Berlin') >= 0)`]),
  times: (size) => rulesOf([`${numbers(size)}.all(x, timestamp('2023-12-31T00:00:00+01:00') < conn.ts.start)`]),
  durations: (size) => rulesOf([`${numbers(size)}.all(x, duration('${'1s'.repeat(15)}') < duration('100h'))`]),
  'rules that match': (size) => repeated('true', size),
  'rules that do not match': (size) => repeated("conn.client_ip == '192.0.2.1'", size),
  logs: (size) =>
    textOf(
      Array(Math.min(size, 50)).fill(
        policyOf([{ type: 'log', config: { metadata: { a: `\${conn.client_ip} \${conn.ts.start}` } } }]),
      ),
    ),
};

const filled = (text, bytes) => text.repeat(Math.floor(bytes / text.length));
const list = (item) => `[${filled(`${item},`, MAX_BYTES - 200)}${item}].size() > 0`;
/** What is slow to read, as large as it is accepted. */
const SLOW_TO_READ = {
  'rules in JSON': textOf(Array(500).fill(policyOf([{ type: 'deny' }]))).slice(0, MAX_BYTES),
  'lists in JSON': `{"on_tcp_connect": ${'['.repeat(MAX_BYTES / 2 - 20)}${']'.repeat(MAX_BYTES / 2 - 20)}}`,
  'rules in YAML': `on_tcp_connect:\n${filled('  - actions: [type: deny]\n', MAX_YAML_BYTES - 20)}`,
  'fields of YAML': filled(':\n', MAX_YAML_BYTES),
  'fields of YAML with names': filled('a: b\n', MAX_YAML_BYTES),
  'lists of YAML': filled('-\n', MAX_YAML_BYTES),
  'anchors of YAML': `[${filled('&a b,', MAX_YAML_BYTES - 2)}]`,
  'tags of YAML': `[${filled('!!str a,', MAX_YAML_BYTES - 2)}]`,
  numbers: rulesOf([list('1')]),
  signs: rulesOf([list('-1')]),
  maps: rulesOf([list('{}')]),
  'maps with fields': rulesOf([list("{'a':1}")]),
  ternaries: rulesOf([list('true?1:2')]),
  all: rulesOf([list('[].all(x, true)')]),
  calls: rulesOf([list("''.size()")]),
  sums: rulesOf(Array(100).fill(`1${'+1'.repeat(30)}>0`)),
  'networks of an action': textOf([
    policyOf([
      {
        type: 'restrict-ips',
        config: { deny: Array.from({ length: 500 }, (_, n) => `2001:db8:${n.toString(16)}::1/128`) },
      },
    ]),
  ]),
  patterns: rulesOf(Array.from({ length: 30 }, (_, n) => `'a'.matches('(?i)[${n}${'a-z'.repeat(80)}]{8}')`)),
};

const names = (suffix) => Array.from({ length: 1_000 }, (_, n) => `bind:h${n}.${suffix}`);
const FULL_ACLS = {
  names: names(`${'a.'.repeat(22)}example`),
  'names and ports': names(`${'a.'.repeat(20)}example`).map((rule, n) => `${rule}:${n + 1}`),
  'Unicode names': names(`${'ä.'.repeat(14)}example`),
};

/** Undefined for a policy that is not accepted. */
function readOf(text) {
  try {
    return readTrafficPolicy(text);
  } catch {
    return undefined;
  }
}

function largest(textOfSize) {
  let [least, most] = [1, LARGEST];
  while (least < most) {
    const size = Math.ceil((least + most) / 2);
    if (readOf(textOfSize(size)) === undefined) most = size - 1;
    else least = size;
  }
  const policy = readOf(textOfSize(least));
  if (policy === undefined) throw new Error(`${textOfSize(1)} is not accepted: this measures the wrong thing`);
  return policy;
}

function msOf(work) {
  return middle(
    Array.from({ length: ROUNDS }, () => {
      const before = performance.now();
      work();
      return performance.now() - before;
    }),
  );
}

const slowest = (kinds, measure) =>
  Object.entries(kinds)
    .map(([kind, given]) => ({ kind, ms: measure(given) }))
    .sort((a, b) => b.ms - a.ms)[0];

const row = (what, ms, goal) => ({
  what: `traffic policy ${what}`,
  measured: ms < 1 ? `${(ms * 1000).toFixed(1)} us` : `${ms.toFixed(2)} ms`,
  goal: goal === undefined ? 'none' : `< ${goal.value} ${goal.unit}`,
  ok: goal === undefined || ms < goal.value,
});

/** @returns {{what: string, measured: string, goal: string, ok: boolean}[]} */
export function trafficPolicies() {
  const rows = [];
  for (const [count, goal] of [
    [1, GOAL_OF_SMALL],
    [100, GOAL_OF_LARGE],
  ]) {
    const text = denies(count);
    const policy = readTrafficPolicy(text);
    for (let n = 0; n < WARM_UP; n += 1) decide(policy);
    const { reason } = decide(policy);
    if (reason !== 'no_action_ends') throw new Error(`${reason}: this measures the wrong thing`);
    const rules = `of ${count} rule${count === 1 ? '' : 's'}`;
    rows.push(
      row(
        `${rules}: read`,
        msOf(() => readOf(text)),
      ),
      row(
        `${rules}: decide`,
        msOf(() => decide(policy)),
        goal,
      ),
    );
  }
  const applied = slowest(HOSTILE, (textOfSize) => {
    const policy = largest(textOfSize);
    return msOf(() => decide(policy));
  });
  const read = slowest(SLOW_TO_READ, (text) => msOf(() => readOf(text)));
  const acl = slowest(FULL_ACLS, (rules) => msOf(() => compile(rules)));
  const kinds = Object.keys(HOSTILE).length;
  return [
    ...rows,
    row(`that is hostile, the slowest of ${kinds} (${applied.kind}): decide`, applied.ms, GOAL_OF_LARGE),
    row(`that is hostile, the slowest (${read.kind}): read`, read.ms, GOAL_OF_LARGE),
    { ...row('', acl.ms, GOAL_OF_LARGE), what: `full ACL, the slowest (${acl.kind}): compile` },
  ];
}
