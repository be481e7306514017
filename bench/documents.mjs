/** What the documents say of bench/results.json. Pure, so that a test can hold the documents to the results. */
import { growthChart } from './growth-chart.mjs';

/** A figure begins with its number, by which runs are put in order: `1.25 x (1.20-1.31; ...)`. */
const numberOf = (measured) => Number.parseFloat(measured.replaceAll(',', ''));

/** Of several runs of a section: each row as the middle run measured it, with the numbers of all. */
function rowsOf({ runs }) {
  const latest = runs.at(-1) ?? [];
  return latest.map(({ what, goal }) => {
    const all = runs.flatMap((rows) => rows.filter((row) => row.what === what));
    const sorted = [...all].sort((a, b) => numberOf(a.measured) - numberOf(b.measured));
    const median = sorted[Math.floor(sorted.length / 2)];
    return { ...median, what, goal, numbers: sorted.map(({ measured }) => numberOf(measured)) };
  });
}

const cell = (text) => text.replaceAll('|', '\\|');
const rangeOf = (numbers) =>
  numbers.length < 2 || numbers.some(Number.isNaN) ? '' : `${numbers[0]} to ${numbers.at(-1)}`;

/** The figures of one section: those with a goal first. */
function sectionTable(name, section) {
  const rows = rowsOf(section);
  const ofRuns = section.runs.length > 1 ? `, the median of up to ${section.runs.length} runs` : '';
  const lines = [...rows.filter(({ goal }) => goal !== 'none'), ...rows.filter(({ goal }) => goal === 'none')].map(
    ({ what, measured, goal, ok, numbers }) =>
      `| ${cell(what)} | ${cell(measured)} | ${rangeOf(numbers)} | ${goal === 'none' ? '' : cell(goal)} | ${goal === 'none' ? '' : ok ? 'yes' : 'no'} |`,
  );
  return [
    `**\`npm run bench -- ${name}\`** (${section.seconds} s)${ofRuns}, on ${section.machine}:`,
    '',
    '| figure | measured | runs | goal | met |',
    '|---|---|---|---|---|',
    ...lines,
  ].join('\n');
}

/** The generated part of docs/performance.md. */
export const figuresOf = ({ sections }) =>
  Object.entries(sections)
    .map(([name, section]) => sectionTable(name, section))
    .join('\n\n');

/** The three figures of the README: the section, the row, and what it says. Those that are not measured yet are left out. */
const README_FIGURES = [
  [
    'peers',
    /^append with the read model, 32 writers/,
    ({ measured }) =>
      `with 32 writers appends at ${numberOf(measured)} x the rate of the fastest of four other event stores`,
  ],
  [
    'growth',
    /^growth of get with the number of credentials/,
    ({ chart: { points } }) => {
      const [small, large] = [points[0], points.at(-1)];
      const sizes = [large.x.toLocaleString('en'), small.x.toLocaleString('en')];
      return `a GET among ${sizes[0]} credentials costs ${(large.y / small.y).toFixed(2)} x one among ${sizes[1]}`;
    },
  ],
  [
    'replay',
    /^replay of \d+ events into shadow tables$/,
    ({ measured }) => `replays ${numberOf(measured).toLocaleString('en')} events a second`,
  ],
];

export function readmeFiguresOf({ sections }) {
  const said = README_FIGURES.flatMap(([name, what, say]) => {
    const row = rowsOf(sections[name] ?? { runs: [] }).find((each) => what.test(each.what));
    return row === undefined ? [] : [say(row)];
  });
  return said.join('; ');
}

/** The pictures by their paths in the repository. */
export function chartsOf({ sections }) {
  const rows = rowsOf(sections.growth ?? { runs: [] }).filter(({ chart }) => chart !== undefined);
  return Object.fromEntries(
    ['credentials', 'accounts'].map((what) => [
      `docs/growth-${what}.svg`,
      growthChart(
        what,
        rows.map((row) => ({ ...row.chart, exponent: row.measured.split(' ')[0] })).filter((c) => c.what === what),
      ),
    ]),
  );
}

/** Text with the part between two comments replaced. */
export function withPart(text, name, part) {
  const [start, end] = [`<!-- ${name}: made by \`npm run bench:documents\` -->`, `<!-- end of ${name} -->`];
  const [from, to] = [text.indexOf(start), text.indexOf(end)];
  if (from === -1 || to < from) throw new Error(`there is no ${start} ... ${end}`);
  return text.slice(0, from + start.length) + part + text.slice(to);
}

/** The documents as they should be, by their paths, from what they are. */
export const documentsOf = (results, textOf) => ({
  'docs/performance.md': withPart(textOf('docs/performance.md'), 'figures', `\n\n${figuresOf(results)}\n\n`),
  'README.md': withPart(textOf('README.md'), 'figures', readmeFiguresOf(results)),
  ...chartsOf(results),
});
