/**
 * Measures what one more rule of an IP policy costs: compiles policies of 5,000 rules and looks addresses up in them.
 * Measures the rules of traffic policies too. Run `npm run build` first.
 */
import { pathToFileURL } from 'node:url';
import { parseSource } from '../dist/src/rules/ip-rules/address.js';
import { compilePolicy } from '../dist/src/rules/ip-rules/ip-policy.js';
import { decideSource } from '../dist/src/rules/ip-rules/ip-restriction.js';
import { middle } from './middle.mjs';
import { trafficPolicies } from './traffic-policies.mjs';

const RULES = 5_000;
const GOAL_MICROSECONDS = 10;
const GOAL_MILLISECONDS = 100;
const ROUNDS = 31;
const CALLS_PER_ROUND = 4096;

const hex = (n) => n.toString(16);
/** Networks of many sizes, one inside the other. Every fourth rule denies. */
const FAMILIES = {
  IPv4: {
    cidr: (n) => [`${1 + (n % 200)}.0.0.0/8`, `10.${n % 256}.0.0/16`, `10.${n % 256}.${(n >> 8) * 6}.0/24`][n % 3],
    source: (n) => `10.${n % 256}.${n % 240}.${n % 251}`,
  },
  IPv6: {
    cidr: (n) => [`2001:${hex(n + 1)}::/32`, `2001:db8:${hex(n + 1)}::/48`, `2001:db8:1:${hex(n + 1)}::/64`][n % 3],
    source: (n) => `2001:db8:${hex(n % RULES)}:${hex(n % 7)}::${hex(n + 1)}`,
  },
};

const measured = (run) => {
  const start = process.hrtime.bigint();
  run();
  return Number(process.hrtime.bigint() - start);
};
const medianOf = (run) => middle(Array.from({ length: ROUNDS }, () => measured(run)));

function measure([family, { cidr, source }]) {
  const rules = Array.from({ length: RULES }, (_, n) => ({
    id: `ipr_${n}`,
    cidr: cidr(n),
    action: n % 4 === 0 ? 'deny' : 'allow',
  }));
  const build = medianOf(() => compilePolicy(rules)) / 1e6;
  const policies = new Map([['ipp', compilePolicy(rules)]]);
  const restriction = { enabled: true, ip_policy_ids: ['ipp'] };
  const sources = Array.from({ length: CALLS_PER_ROUND }, (_, n) => source(n));
  const seen = new Set(sources.map((one) => decideSource(restriction, policies, parseSource(one)).reason));
  if (seen.size < 2) throw new Error(`only ${[...seen]}: this measures the wrong thing`);
  const addresses = sources.map(parseSource);
  const each = (run) => medianOf(run) / CALLS_PER_ROUND / 1000;
  const row = (what, value, unit, goal) => ({
    what: `${RULES.toLocaleString('en')} rules in one policy, ${family}: ${what}`,
    measured: `${value.toFixed(2)} ${unit}`,
    goal: `< ${goal} ${unit}`,
    ok: value < goal,
  });
  const fromText = () => sources.map((one) => decideSource(restriction, policies, parseSource(one)));
  const alone = () => addresses.map((one) => decideSource(restriction, policies, one));
  return [
    row('decide, from the text of the address', each(fromText), 'us', GOAL_MICROSECONDS),
    row('decide, the look-up alone', each(alone), 'us', GOAL_MICROSECONDS),
    row('compile the policy', build, 'ms', GOAL_MILLISECONDS),
  ];
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  return [...Object.entries(FAMILIES).flatMap(measure), ...trafficPolicies()];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.table(await run());
}
