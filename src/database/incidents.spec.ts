import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { DatabaseError, type Pool } from 'pg';
import { DatabaseUnreachable } from './failure.js';
import { Incidents } from './incidents.js';

const said: string[] = [];
const log = {
  error: (line: string) => void said.push(`error ${line}`),
  log: (line: string) => void said.push(`info ${line}`),
};
let connecting: () => Promise<unknown>;
let answer: () => Promise<unknown>;
const client = { query: () => answer(), release: () => undefined };
const pool = { ended: false, connect: () => connecting() } as unknown as Pool;
const refusedWith = (severity: string, code: string): DatabaseError =>
  Object.assign(new DatabaseError('said by PostgreSQL', 0, 'error'), { severity, code });

beforeEach(() => {
  jest.useFakeTimers();
  said.length = 0;
  connecting = () => Promise.resolve(client);
  answer = () => Promise.resolve({});
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
  answer = () => Promise.resolve({});
  await jest.advanceTimersByTimeAsync(2_000);
  expect(said).toHaveLength(2);
  incidents.failed(Object.assign(new Error('wrapped'), { cause: away() }));
  expect(said).toHaveLength(3);
});

it.each<[string, Error]>([
  ['that nobody listens', Object.assign(new Error('connect ECONNREFUSED'), { code: 'ECONNREFUSED' })],
  ['that it ended', new Error('Connection terminated unexpectedly')],
  ['that the time is over', new Error('timeout exceeded when trying to connect')],
  ['that the server refuses the role', refusedWith('FATAL', '28000')],
  ['that the role may not connect', refusedWith('FATAL', '42501')],
])('is not over by a connection that says %s', async (_, error) => {
  const incidents = new Incidents(pool, log);
  connecting = () => Promise.reject(error);
  incidents.failed(away());
  incidents.failed(refusedWith('ERROR', '53100'));
  await jest.advanceTimersByTimeAsync(60_000);
  expect([said.length, incidents.cannotWrite]).toEqual([2, 'cannot write: the disk of the database is full']);
});

it('is over once no request fails, if the probe lacks a right', async () => {
  const incidents = new Incidents(pool, log);
  answer = () => Promise.reject(refusedWith('ERROR', '42501'));
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
