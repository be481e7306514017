import { expect, it } from '@jest/globals';
import { withFigures } from '../bench/documents.mjs';
import { textOf } from './support/documents.js';

it('docs/performance.md has the figures of bench/results.json: node bench/write-documents.mjs makes them', () => {
  const text = textOf('docs/performance.md');
  expect(withFigures(text, JSON.parse(textOf('bench/results.json')))).toBe(text);
});
