/** `npm run bench:documents`: makes what the documents say of bench/results.json. */
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { pathToFileURL } from 'node:url';
import { documentsOf } from './documents.mjs';
import { SECTIONS } from './sections.mjs';

const RESULTS = new URL('results.json', import.meta.url);
const MAX_RUNS = 3;

const fileOf = (path) => new URL(`../${path}`, import.meta.url);
const readResults = async () => JSON.parse(await readFile(RESULTS, 'utf8').catch(() => '{"sections":{}}'));

/** Adds the rows of a section's run. The newest three runs on one machine stay: figures of two machines are not compared. */
export async function addRun(machine, name, { rows, seconds }) {
  const { sections } = await readResults();
  const before = sections[name]?.machine === machine ? sections[name].runs : [];
  const runs = [...before, rows].slice(-MAX_RUNS);
  const all = { ...sections, [name]: { machine, seconds, runs } };
  const inOrder = Object.keys(SECTIONS).flatMap((each) => (each in all ? [[each, all[each]]] : []));
  const results = { sections: Object.fromEntries(inOrder) };
  await writeFile(RESULTS, `${JSON.stringify(results, null, 2)}\n`);
}

export async function writeDocuments() {
  const documents = documentsOf(await readResults(), (path) => readFileSync(fileOf(path), 'utf8'));
  for (const [path, text] of Object.entries(documents)) await writeFile(fileOf(path), text);
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href) await writeDocuments();
