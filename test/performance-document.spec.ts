import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { documentsOf } from '../bench/documents.mjs';
import { REPOSITORY, textOf } from './support/documents.js';

const RESULTS = JSON.parse(textOf('bench/results.json'));
const DOCUMENTS = documentsOf(RESULTS, textOf);

describe('the figures of the documents', () => {
  it.each(Object.keys(DOCUMENTS))(
    'are those of bench/results.json: %s; make them by `npm run bench:documents`',
    (path) => {
      expect(textOf(path)).toBe(DOCUMENTS[path]);
    },
  );

  it('are in the README, in docs/performance.md and in two pictures, which it shows', () => {
    const pictures = [...textOf('docs/performance.md').matchAll(/!\[[^\]]*\]\(([^)]+)\)/g)].map(
      ([, file]) => `docs/${file}`,
    );
    expect(Object.keys(DOCUMENTS).sort()).toEqual(['README.md', 'docs/performance.md', ...pictures].sort());
  });

  it('begin with their number if they have a goal: by it the middle one of several runs is chosen', () => {
    const sections: { runs: { measured: string; goal: string }[][] }[] = Object.values(RESULTS.sections);
    const withGoal = sections.flatMap(({ runs }) => runs.flat()).filter(({ goal }) => goal !== 'none');
    const measured = withGoal.map((row) => row.measured);
    expect(measured.filter((text) => Number.isNaN(Number.parseFloat(text)))).toEqual([]);
  });

  it('come from sections of the bench that exist', async () => {
    const { SECTIONS } = await import('../bench/sections.mjs');
    expect(
      Object.keys(RESULTS.sections).filter((name) => !existsSync(join(REPOSITORY, 'bench', SECTIONS[name] ?? '?'))),
    ).toEqual([]);
  });
});
