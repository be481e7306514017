import { expect, it } from '@jest/globals';
import { editDistance } from './edit-distance.js';

it.each([
  ['DATABSE_URL', 'DATABASE_URL', 1],
  ['DATABASE_ULR', 'DATABASE_URL', 1],
  ['PROT', 'PORT', 1],
  ['DTABASE_ULR', 'DATABASE_URL', 2],
  ['HOME', 'HOST', 2],
  ['PGPORT', 'PORT', 2],
  ['', 'ab', 2],
  ['same', 'same', 0],
])('%s and %s are %i letters apart', (one, other, distance) => {
  expect([editDistance(one, other), editDistance(other, one)]).toEqual([distance, distance]);
});
