/**
 * `npm run bench` measures everything; `npm run bench -- http acl` only what is named. With `--quick` it measures in short
 * rounds what can be, by default that alone, in two minutes. Prints each figure beside its goal and writes bench/results.json. Ratios are taken side by side in one run: an absolute figure says more of the machine.
 */
import { writeFile } from 'node:fs/promises';

const SECTIONS = {
  start: 'start.mjs',
  http: 'http.mjs',
  acl: 'acl.mjs',
  'ip-rules': 'ip-rules.mjs',
  gateway: 'gateway.mjs',
  keys: 'public-key-attacks.mjs',
  replay: 'replay.mjs',
  feed: 'feed.mjs',
  fairness: 'fairness.mjs',
  tunnels: 'tunnels.mjs',
};

/** The sections that have short rounds, or need none. */
const QUICK_SECTIONS = ['start', 'http', 'acl'];

const quick = process.argv.includes('--quick');
const named = process.argv.slice(2).filter((argument) => argument !== '--quick');
const wanted = named.length === 0 && quick ? QUICK_SECTIONS : named;
const unknown = wanted.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`there is no bench '${unknown.join("', '")}'; there are ${Object.keys(SECTIONS).join(', ')}`);
  process.exit(2);
}

const results = [];
for (const [name, file] of Object.entries(SECTIONS)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  console.error(`measuring ${name} ...`);
  const { run } = await import(`./${file}`);
  for (const row of await run({ quick })) {
    results.push({ bench: name, ...row });
    console.log(`${row.ok ? 'ok    ' : 'MISSED'}  ${row.what}\n          ${row.measured}   (goal: ${row.goal})`);
  }
}
await writeFile(new URL('results.json', import.meta.url), `${JSON.stringify(results, null, 2)}\n`);
const missed = results.filter((row) => !row.ok).length;
console.error(`${results.length} figures, ${missed} short of their goal; bench/results.json has them all`);
