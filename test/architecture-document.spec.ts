import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('..', import.meta.url).pathname;
const textOf = (name: string): string => readFileSync(`${ROOT}/${name}.md`, 'utf8');
const text = ['docs/architecture', 'docs/walks', 'docs/decisions', 'test/README'].map(textOf).join('\n');

const files = ['src', 'migrations', 'test'].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
);

/** Each test that a table names: the file and a part of the title. */
const TESTS = [...text.matchAll(/`([a-z0-9/-]+\.spec\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)].flatMap(
  ([, file = '', titles = '']) => [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => [file, title] as const),
);

/** The rows of the table of a section, without its head. */
const rowsOf = (title: string): string[] =>
  (textOf('test/README').split(`## ${title}\n`)[1] ?? '')
    .split('\n## ')[0]
    ?.match(/^\|.*\|$/gm)
    ?.slice(2) ?? [];

describe('docs/architecture.md, with walks.md, decisions.md and test/README.md,', () => {
  it('names only files that exist', () => {
    const named = [...text.matchAll(/`([a-z0-9/.-]+\.ts)`/g)].map(([, file = '']) => file);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((file) => !files.some((path) => `/${path}`.endsWith(`/${file}`)))).toEqual([]);
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
