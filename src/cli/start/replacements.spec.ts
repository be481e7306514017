import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { ServiceLog } from '../../service-log/service-log.js';
import { Replacements } from './replacements.js';
import type { WorkerEnd } from './worker-process.js';

const KILLED: WorkerEnd = { code: null, signal: 'SIGKILL', failure: undefined };
const NO_DATABASE: WorkerEnd = { code: 3, signal: null, failure: { exitCode: 3, message: 'the database is away' } };

let said: string[];
let started: number[];
let replacements: Replacements;

beforeEach(() => {
  jest.useFakeTimers();
  [said, started] = [[], []];
  const log = Object.assign(new ServiceLog(), { line: (...[, , text]: unknown[]) => void said.push(String(text)) });
  replacements = new Replacements(log, (number) => {
    started.push(number);
    return Promise.resolve();
  });
});
afterEach(() => {
  jest.useRealTimers();
});

describe('a worker that ended', () => {
  it('is replaced at once, with a sentence that says how it ended', () => {
    replacements.replace(2, KILLED, 5_000);
    jest.advanceTimersByTime(0);
    expect(said).toEqual(['worker 2 ended (SIGKILL); starting another']);
    expect(started).toEqual([2]);
  });

  it('early again and again is replaced ever later, up to 30 s, until one has run for a minute', () => {
    const waits = [0, 1, 2, 4, 8, 16, 30, 30];
    for (const [n, seconds] of waits.entries()) {
      replacements.replace(1, NO_DATABASE, 100);
      expect(started).toHaveLength(n);
      jest.advanceTimersByTime(Math.max(0, seconds * 1000 - 1));
      expect(started).toHaveLength(seconds === 0 ? 1 : n);
      jest.advanceTimersByTime(1);
      expect(started).toHaveLength(n + 1);
    }
    expect(said[3]).toBe('worker 1 could not start: the database is away; starting another in 4 s');
    replacements.replace(1, KILLED, 60_000);
    jest.advanceTimersByTime(0);
    expect(started).toHaveLength(waits.length + 1);
  });

  it('is not replaced any more during a stop', () => {
    replacements.replace(1, KILLED, 100);
    replacements.stop();
    jest.advanceTimersByTime(60_000);
    expect(started).toEqual([]);
  });
});
