/** Writes the figures of docs/performance.md from bench/results.json, as `npm run bench` does at its end. */
import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { withFigures } from './documents.mjs';
import { SECTIONS } from './sections.mjs';

const RESULTS = new URL('results.json', import.meta.url);
const MAX_RUNS = 3;

const PAGE = new URL('../docs/performance.md', import.meta.url);
const readResults = async () => JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '{"sections":{}}'));

/**
 * Adds the rows of a section's run. It keeps the newest three runs on this machine, because machines are not
 * comparable.
 */
export async function addRun(machine, name, { rows, seconds }) {
  const { sections } = await readResults();
  const before = sections[name]?.machine === machine ? sections[name].runs : [];
  const runs = [...before, rows].slice(-MAX_RUNS);
  const all = { ...sections, [name]: { machine, seconds, runs } };
  const inOrder = Object.keys(SECTIONS).flatMap((each) => (each in all ? [[each, all[each]]] : []));
  const results = { sections: Object.fromEntries(inOrder) };
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
}

export const writeFigures = async () => writeFile(PAGE, withFigures(await readFile(PAGE, 'utf8'), await readResults()));

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeFigures();
