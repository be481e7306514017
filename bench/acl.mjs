/**
 * Does authorizing a bind cost more with more rules? Ratios to one rule, each round measuring every size in turn, so that a
 * machine that slows down slows all of them. Run `npm run build` first.
 */
import { pathToFileURL } from 'node:url';
import { compile, parseBindTarget, permits } from '../dist/src/ssh-credentials/acl.js';

const SIZES = [1, 10, 1000, 100_000];
const GOALS = { 10: 1.1, 1000: 1.3 };
const ROUNDS = 41;
const CALLS_PER_ROUND = 40_000;
const REQUESTS = 64;

/** Every kind of rule in turn; the first is the same for every size. */
const RULES = [
  (i) => `bind:*.team-${i}.example.com`,
  (i) => `bind:app-${i}.example.com`,
  (i) => `bind:tcp-${i}.example.com:443`,
  (i) => `bind:team=t${i}`,
];
const aclOf = (size) => Array.from({ length: size }, (_, i) => RULES[i % RULES.length](i));

/** What a rule of the same place permits. */
const HITS = [
  (i) => ({ domain: `www.team-${i}.example.com` }),
  (i) => ({ address: `app-${i}.example.com:8080` }),
  (i) => ({ address: `tcp-${i}.example.com:443` }),
  (i) => ({ label: { key: 'team', value: `t${i}` } }),
];

/** Permitted requests are spread over the whole ACL; refused ones look like them. */
const permittedBy = (size) =>
  Array.from({ length: REQUESTS }, (_, n) => {
    const i = Math.floor((n * size) / REQUESTS);
    return parseBindTarget(HITS[i % HITS.length](i));
  });
const sameKindPermittedBy = (size) =>
  Array.from({ length: REQUESTS }, (_, n) => {
    const i = Math.floor((n * size) / REQUESTS);
    return parseBindTarget(HITS[0](i - (i % HITS.length)));
  });
const refused = () =>
  Array.from({ length: REQUESTS }, (_, n) => parseBindTarget({ domain: `www.other-${n}.example.com` }));

function nanosecondsPerCall({ compiled, targets, expected }) {
  let permitted = 0;
  const start = process.hrtime.bigint();
  for (let i = 0; i < CALLS_PER_ROUND; i += 1) {
    if (permits(compiled, targets[i % REQUESTS]).permitted) permitted += 1;
  }
  const spent = Number(process.hrtime.bigint() - start);
  if (permitted !== expected * CALLS_PER_ROUND)
    throw new Error(`${permitted} permitted: this measures the wrong thing`);
  return spent / CALLS_PER_ROUND;
}

const at = (sorted, share) => sorted[Math.round((sorted.length - 1) * share)];
const sortedRatios = (times, base) => times.map((time, round) => time / base[round]).sort((a, b) => a - b);

/** Ratios are taken inside a round, against the single rule measured in the same tens of milliseconds. */
function compare(what, targetsOf, expected) {
  const cases = SIZES.map((size) => ({ compiled: compile(aclOf(size)), targets: targetsOf(size), expected }));
  for (const one of cases) for (let i = 0; i < 5; i += 1) nanosecondsPerCall(one);
  const times = SIZES.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    // Another order each round: the first after a pause is not always the same.
    SIZES.forEach((_, n) => {
      const turn = (n + round) % SIZES.length;
      times[turn].push(nanosecondsPerCall(cases[turn]));
    });
  }
  const single = at(
    [...times[0]].sort((a, b) => a - b),
    0.5,
  );
  return SIZES.slice(1).map((size, n) => rowOf(what, size, sortedRatios(times[n + 1], times[0]), single));
}

function rowOf(what, size, ratios, singleNs) {
  const median = at(ratios, 0.5);
  const goal = GOALS[size];
  const range = `${at(ratios, 0.1).toFixed(2)}-${at(ratios, 0.9).toFixed(2)}`;
  return {
    what: `authorize a bind, ${size.toLocaleString('en')} rules against 1, ${what}`,
    measured: `${median.toFixed(2)} x (${range}; 1 rule: ${singleNs.toFixed(0)} ns)`,
    goal: goal === undefined ? 'none' : `<= ${goal} x`,
    ok: goal === undefined || median <= goal,
  };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  return [...compare('permitted', sameKindPermittedBy, 1), ...compare('refused', refused, 0)];
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.table(await run());
}
