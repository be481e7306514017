import { expect, it } from '@jest/globals';
import { isWithinDistance } from './edit-distance.js';

it.each([
  ['DATABSE_URL', 'DATABASE_URL', 1],
  ['DATABASE_ULR', 'DATABASE_URL', 2],
  ['PROT', 'PORT', 2],
  ['', 'ab', 2],
  ['same', 'same', 0],
])('%s and %s are %i letters apart', (one, other, distance) => {
  for (const [a, b] of [
    [one, other],
    [other, one],
  ] as const) {
    expect(isWithinDistance(a, b, distance)).toBe(true);
    expect(isWithinDistance(a, b, distance - 1)).toBe(false);
  }
});
