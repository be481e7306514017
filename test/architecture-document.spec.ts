import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('..', import.meta.url).pathname;
const textOf = (name: string): string => readFileSync(`${ROOT}/docs/${name}.md`, 'utf8');
const text = ['architecture', 'walks', 'decisions'].map(textOf).join('\n');

const linesOf = (file: string): number => readFileSync(`${ROOT}/${file}`, 'utf8').trimEnd().split('\n').length;
const numberOf = (digits: string): number => Number(digits.replace(',', ''));

/** Each step of a walk begins with its files. Others that it names are not on the way. */
const filesOf = (walk: string): string[] =>
  [...walk.matchAll(/^\d+\. (.*?`): /gm)].flatMap(([, heads = '']) =>
    [...heads.matchAll(/`([a-z0-9/.-]+\.ts)`/g)].map(([, file = '']) => file),
  );

const files = ['src', 'migrations', 'test'].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
);

/** Each test that a table names: the file and a part of the title. */
const TESTS = [...text.matchAll(/`([a-z0-9/-]+\.spec\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)].flatMap(
  ([, file = '', titles = '']) => [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => [file, title] as const),
);

/** The rows of the table of a section, without its head. */
const rowsOf = (title: string): string[] =>
  (text.split(`## ${title}\n`)[1] ?? '')
    .split('\n## ')[0]
    ?.match(/^\|.*\|$/gm)
    ?.slice(2) ?? [];

describe('docs/architecture.md, with walks.md and decisions.md,', () => {
  it('names only files that exist', () => {
    const named = [...text.matchAll(/`([a-z0-9/.-]+\.ts)`/g)].map(([, file = '']) => file);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((file) => !files.some((path) => `/${path}`.endsWith(`/${file}`)))).toEqual([]);
  });

  it('counts the files, the lines and the hops of each walk', () => {
    const walks = textOf('walks').split('\n## ').slice(1);
    expect(walks.length).toBe(8);
    for (const walk of walks) {
      const [title = ''] = walk.split('\n');
      const [, count, lines = '', hops] = /\((\d+) files, about ([\d,]+) lines, (\d+) hops\)$/.exec(title) ?? [];
      const [, chain = ''] = /^Hops: (.*?)\.$/ms.exec(walk) ?? [];
      const walked = filesOf(walk);
      expect([title, new Set(walked).size, walked.length]).toEqual([title, Number(count), Number(count)]);
      expect([title, chain.split('->').length - 1]).toEqual([title, Number(hops)]);
      const actual = walked.reduce((sum, file) => sum + linesOf(`src/${file}`), 0);
      expect([title, Math.abs(actual / numberOf(lines) - 1) < 0.05]).toEqual([title, true]);
    }
  });

  it('names a test for each revocation and each invariant', () => {
    const rows = ['What is taken, and where it is caught', 'What always holds'].map((title) => rowsOf(title));
    expect(rows.map(({ length }) => length > 10)).toEqual([true, true]);
    expect(rows.flat().filter((row) => !/`[a-z0-9/-]+\.spec\.ts`: "/.test(row))).toEqual([]);
  });

  it('names only tests that exist', () => {
    expect(TESTS.length).toBeGreaterThan(10);
    const folderOf = (file: string): string => (file.startsWith('kernel/') ? 'src' : 'test');
    const textOfTest = (file: string): string => readFileSync(`${ROOT}/${folderOf(file)}/${file}`, 'utf8');
    const missing = TESTS.filter(([file, title]) => !textOfTest(file).includes(title));
    expect(missing).toEqual([]);
  });
});
