/**
 * The ten figures of docs/performance.md, from bench/results.json. It is pure, so that a test can compare the page with
 * the results.
 */

/** The section of each figure, and the beginning of its row. */
const FIGURES = [
  ['http', "node's CPU time for a create"],
  ['http', "node's CPU time for a get"],
  ['http', 'rate of creates on 128 connections, against pgbench'],
  ['fresh', 'creates in the slowest 5 s of the first minute'],
  ['peers', 'append with the read model, 32 writers'],
  ['growth', 'growth of create with the number of credentials'],
  ['gateway', 'authorize over HTTP, 64 connections, 100,000 credentials, 1000 rules against 1'],
  ['replay', 'audit verify'],
  ['fairness', "p99 of a neighbour's GET, PATCH and authorize under 10 connections of GET /events as lines"],
  ['tunnels', 'throughput of one tunnel through an edge'],
];

/** A figure begins with its number: `1.25 x (1.20-1.31; ...)`. */
const numberOf = (measured) => Number.parseFloat(measured.replaceAll(',', ''));
/** The unit stands once: a cell of a document has at most 25 words. */
const cell = (text) => text.replaceAll(' ms against ', ' against ').replaceAll('|', '\\|');

/** The figure of the median run, and the numbers of all runs. */
function lineOf({ sections }, [name, beginning]) {
  const rows = (sections[name]?.runs ?? []).flat().filter(({ what }) => what.startsWith(beginning));
  const sorted = rows.toSorted((a, b) => numberOf(a.measured) - numberOf(b.measured));
  const middle = sorted[Math.floor(sorted.length / 2)];
  if (middle === undefined)
    throw new Error(`bench/results.json has no figure '${beginning}': npm run bench -- ${name}`);
  const runs = sorted.map(({ measured }) => numberOf(measured)).join(', ');
  const cells = [`\`${name}\`: ${middle.what}`, middle.measured, runs, middle.goal, middle.ok ? 'yes' : 'no'];
  return `| ${cells.map(cell).join(' | ')} |`;
}

export const figuresOf = (results) =>
  [
    '| section: figure | measured | runs | floor | held |',
    '|---|---|---|---|---|',
    ...FIGURES.map((figure) => lineOf(results, figure)),
  ].join('\n');

const [START, END] = ['<!-- figures: made by `npm run bench` -->', '<!-- end of figures -->'];

/** Puts the figures into the text of docs/performance.md. */
export function withFigures(text, results) {
  const [from, to] = [text.indexOf(START), text.indexOf(END)];
  if (from === -1 || to < from) throw new Error(`docs/performance.md has no ${START} ... ${END}`);
  return `${text.slice(0, from + START.length)}\n\n${figuresOf(results)}\n\n${text.slice(to)}`;
}
