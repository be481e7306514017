import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import type { Pool } from 'pg';
import { DatabaseUnreachable } from './failure.js';
import { Incidents } from './incidents.js';

const said: string[] = [];
const log = {
  error: (line: string) => void said.push(`error ${line}`),
  log: (line: string) => void said.push(`info ${line}`),
};
let answer: () => Promise<unknown>;
const pool = { ended: false, query: () => answer() } as unknown as Pool;

beforeEach(() => {
  jest.useFakeTimers();
  said.length = 0;
  answer = () => Promise.resolve();
});
afterEach(() => {
  jest.useRealTimers();
});

const away = () => new DatabaseUnreachable('there was no connection before the deadline');

it('an incident is one error while requests fail, though probes between them succeed', async () => {
  const incidents = new Incidents(pool, log);
  for (let n = 0; n < 100; n += 1) {
    expect(incidents.failed(away())).toBe(true);
    await jest.advanceTimersByTimeAsync(100);
  }
  expect(said).toEqual(['error the database does not answer: there was no connection before the deadline']);
  await jest.advanceTimersByTimeAsync(8_000);
  expect(said).toHaveLength(2);
  expect(said[1]).toMatch(/^info the database answers again, after 1\d s$/);
});

it('lasts as long as the probes fail, and begins again with the next failure', async () => {
  const incidents = new Incidents(pool, log);
  answer = () => Promise.reject(away());
  incidents.failed(away());
  await jest.advanceTimersByTimeAsync(60_000);
  expect(said).toHaveLength(1);
  answer = () => Promise.resolve();
  await jest.advanceTimersByTimeAsync(2_000);
  expect(said).toHaveLength(2);
  incidents.failed(Object.assign(new Error('wrapped'), { cause: away() }));
  expect(said).toHaveLength(3);
});

it('is over once no request fails, if the probe lacks a right', async () => {
  const incidents = new Incidents(pool, log);
  answer = () => Promise.reject(new Error('permission denied to create temporary tables'));
  incidents.failed(away());
  await jest.advanceTimersByTimeAsync(10_000);
  expect(said).toHaveLength(2);
});

it('is none of other errors', () => {
  const incidents = new Incidents(pool, log);
  expect([incidents.failed(new Error('x')), incidents.failed(undefined), incidents.cannotWrite]).toEqual([
    false,
    false,
    undefined,
  ]);
  expect(said).toEqual([]);
});
