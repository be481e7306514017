/**
 * Measures whether authorizing a bind takes longer with more rules, as a ratio to one rule. Each round measures every
 * size, so that a slow moment of the machine affects all sizes. Run `npm run build` first.
 */
import { pathToFileURL } from 'node:url';
import { compile, permits } from '../dist/src/rules/bind-rules/acl.js';
import { parseBindTarget } from '../dist/src/rules/bind-rules/bind-target.js';

const SIZES = [1, 10, 1000, 100_000];
const GOALS = { 10: 1.1, 1000: 1.3 };
const WARM_UP_ROUNDS = 20;
const ROUNDS = 151;
const CALLS_PER_ROUND = 4096;
const REQUESTS = 64;

/** The kinds of rules, which alternate in an ACL. The first rule is the same for every size. */
const RULES = [
  (i) => `bind:*.team-${i}.example.com`,
  (i) => `bind:app-${i}.example.com`,
  (i) => `bind:tcp-${i}.example.com:443`,
  (i) => `bind:team=t${i}`,
];
const aclOf = (size) => Array.from({ length: size }, (_, i) => RULES[i % RULES.length](i));

/** Permitted requests, as text like those of a gateway. They match rules of the first kind, over the whole ACL. */
const permittedBy = (size) =>
  Array.from({ length: REQUESTS }, (_, n) => {
    const i = Math.floor((n * size) / REQUESTS);
    return { domain: `www.team-${i - (i % RULES.length)}.example.com` };
  });
const refused = () => Array.from({ length: REQUESTS }, (_, n) => ({ domain: `www.other-${n}.example.com` }));

/** The two calls that are measured: with the parsing of the request, as in the service, and the look-up only. */
const WAYS = [
  {
    way: 'request to verdict',
    prepare: (request) => request,
    ask: (acl, request) => permits(acl, parseBindTarget(request)),
  },
  { way: 'permits alone', prepare: parseBindTarget, ask: permits },
];

function nanosecondsPerCall({ ask, compiled, requests, expected }) {
  let permitted = 0;
  const start = process.hrtime.bigint();
  for (let i = 0; i < CALLS_PER_ROUND; i += 1) {
    if (ask(compiled, requests[i % REQUESTS]).permitted) permitted += 1;
  }
  const spent = Number(process.hrtime.bigint() - start);
  if (permitted !== expected * CALLS_PER_ROUND)
    throw new Error(`${permitted} permitted: this measures the wrong thing`);
  return spent / CALLS_PER_ROUND;
}

const at = (sorted, share) => sorted[Math.round((sorted.length - 1) * share)];
const ascending = (numbers) => [...numbers].sort((a, b) => a - b);

/** Takes the ratios inside a round, against the single rule that was measured within the same milliseconds. */
function compare({ way, prepare, ask }, outcome, requestsOf, expected) {
  const cases = SIZES.map((size) => ({
    ask,
    compiled: compile(aclOf(size)),
    requests: requestsOf(size).map(prepare),
    expected,
  }));
  for (let i = 0; i < WARM_UP_ROUNDS; i += 1) cases.forEach(nanosecondsPerCall);
  const times = SIZES.map(() => []);
  for (let round = 0; round < ROUNDS; round += 1) {
    // Each round has another order, so that not always the same size comes first after a pause.
    for (let n = 0; n < SIZES.length; n += 1) {
      const turn = (n + round) % SIZES.length;
      times[turn].push(nanosecondsPerCall(cases[turn]));
    }
  }
  return SIZES.slice(1).map((size, n) => rowOf(`${way}, ${outcome}`, size, times[n + 1], times[0]));
}

function rowOf(what, size, times, single) {
  const ratios = ascending(times.map((time, round) => time / single[round]));
  const median = at(ratios, 0.5);
  const goal = GOALS[size];
  const range = `${at(ratios, 0.1).toFixed(2)}-${at(ratios, 0.9).toFixed(2)}`;
  const absolute = `${at(ascending(times), 0.5).toFixed(0)} against ${at(ascending(single), 0.5).toFixed(0)} ns`;
  return {
    what: `authorize a bind, ${size.toLocaleString('en')} rules against 1 (${what})`,
    measured: `${median.toFixed(2)} x (${range}; ${absolute})`,
    goal: goal === undefined ? 'none' : `<= ${goal} x`,
    ok: goal === undefined || median <= goal,
  };
}

/** @returns {Promise<{what: string, measured: string, goal: string, ok: boolean}[]>} */
export async function run() {
  return WAYS.flatMap((way) => [...compare(way, 'permitted', permittedBy, 1), ...compare(way, 'refused', refused, 0)]);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) {
  console.table(await run());
}
