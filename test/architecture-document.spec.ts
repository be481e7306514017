import { readdirSync, readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const ROOT = new URL('..', import.meta.url).pathname;
const text = ['architecture', 'walks', 'decisions']
  .map((name) => readFileSync(`${ROOT}/docs/${name}.md`, 'utf8'))
  .join('\n');

const files = ['src', 'migrations', 'test'].flatMap((folder) =>
  readdirSync(`${ROOT}/${folder}`, { recursive: true, encoding: 'utf8' }).map((file) => `${folder}/${file}`),
);

/** Each test that the table of invariants names: the file and a part of the title. */
const TESTS = [...text.matchAll(/`([a-z/-]+\.spec\.ts)`: ((?:"[^"]+"(?:, )?)+)/g)].flatMap(
  ([, file = '', titles = '']) => [...titles.matchAll(/"([^"]+)"/g)].map(([, title = '']) => [file, title] as const),
);

describe('docs/architecture.md, with walks.md and decisions.md,', () => {
  it('names only files that exist', () => {
    const named = [...text.matchAll(/`([a-z0-9/.-]+\.ts)`/g)].map(([, file = '']) => file);
    expect(named.length).toBeGreaterThan(50);
    expect(named.filter((file) => !files.some((path) => `/${path}`.endsWith(`/${file}`)))).toEqual([]);
  });

  it('proves each invariant by a test that exists', () => {
    expect(TESTS.length).toBeGreaterThan(10);
    const missing = TESTS.filter(([file, title]) => !readFileSync(`${ROOT}/test/${file}`, 'utf8').includes(title));
    expect(missing).toEqual([]);
  });
});
