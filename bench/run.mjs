/**
 * `npm run bench` measures everything, and `npm run bench -- http acl` only these sections. It prints each figure with
 * its goal, adds the run to bench/results.json, and writes the ten figures of docs/performance.md. With `--quick` it
 * measures the main figures in short rounds and writes no file.
 */
import { arch, cpus, platform } from 'node:os';
import { QUICK_SECTIONS, SECTIONS } from './sections.mjs';
import { addRun, writeFigures } from './write-documents.mjs';

const quick = process.argv.includes('--quick');
const named = process.argv.slice(2).filter((argument) => argument !== '--quick' && argument !== 'all');
const wanted = named.length > 0 ? named : quick ? QUICK_SECTIONS : Object.keys(SECTIONS);
const unknown = wanted.filter((name) => !(name in SECTIONS));
if (unknown.length > 0) {
  console.error(`there is no bench '${unknown.join("', '")}'; there are ${Object.keys(SECTIONS).join(', ')}`);
  process.exit(2);
}

const machine = `${cpus().length} cores (${cpus()[0]?.model.trim()}), ${platform()} ${arch()}, Node ${process.versions.node}`;

/** The rows of one section. If a section cannot run here, the others still run. */
async function measure(name) {
  console.error(`measuring ${name} ...`);
  const start = performance.now();
  try {
    const { run } = await import(`./${SECTIONS[name]}`);
    const rows = await run({ quick });
    return { rows, seconds: Math.round((performance.now() - start) / 1000) };
  } catch (error) {
    console.error(`${name} failed:`, error);
    process.exitCode = 1;
    return undefined;
  }
}

let [figures, missed] = [0, 0];
for (const name of Object.keys(SECTIONS).filter((each) => wanted.includes(each))) {
  const measured = await measure(name);
  if (measured === undefined) continue;
  for (const { ok, what, measured: figure, goal } of measured.rows) {
    console.log(`${ok ? 'ok    ' : 'MISSED'}  ${what}\n          ${figure}   (goal: ${goal})`);
    figures += 1;
    if (!ok) missed += 1;
  }
  // It is written after each section, so that an interrupted run keeps its results.
  if (!quick) await addRun(machine, name, measured);
}
if (!quick) await writeFigures();
console.error(`${figures} figures, ${missed} short of their goal${quick ? '' : '; bench/results.json has them all'}`);
