import { availableParallelism } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { readConfig } from '../config.js';
import { configOfWorker, workersFor } from './workers.js';

const read = (environment: Record<string, string>) => readConfig(environment);
const numbers = (count: number): number[] => Array.from({ length: count }, (_, n) => n + 1);

describe('WORKERS', () => {
  it('is 1 by default, a number, or auto', () => {
    expect(read({}).workers).toBe(1);
    expect(read({ WORKERS: '3' }).workers).toBe(3);
    expect(read({ WORKERS: 'auto' }).workers).toBe(workersFor(availableParallelism()));
  });

  it.each([
    [1, 1],
    [2, 1],
    [3, 2],
    [9, 8],
    [64, 8],
  ])('auto on %i cores is %i', (cores, workers) => {
    expect(workersFor(cores)).toBe(workers);
  });

  it.each(['0', '65', 'all', '-1', '1.5'])('is not %s', (WORKERS) => {
    expect(() => read({ WORKERS })).toThrow(`WORKERS '${WORKERS}' must be auto or a whole number from 1 to 64`);
  });

  it('of 1 leaves the pools as they are', () => {
    expect(read({})).toMatchObject({ databasePoolSize: 10, dearReadConnections: 4 });
    expect(read({ DATABASE_POOL_SIZE: '2' })).toMatchObject({ databasePoolSize: 2 });
  });

  it('grows pools that are not set, and no others', () => {
    expect(read({ WORKERS: '8' })).toMatchObject({
      databasePoolSize: 32,
      dearReadConnections: 16,
      replicaPoolSize: 16,
    });
    expect(read({ WORKERS: '2' })).toMatchObject({ databasePoolSize: 10, dearReadConnections: 4 });
    expect(read({ WORKERS: '4', DATABASE_POOL_SIZE: '9' })).toMatchObject({
      databasePoolSize: 9,
      dearReadConnections: 8,
    });
  });

  it.each([
    ['DATABASE_POOL_SIZE', '7', '8'],
    ['DEAR_READ_CONNECTIONS', '7', '8'],
    ['REPLICA_POOL_SIZE', '3', '4'],
  ])('refuses %s that cannot give each worker what it needs', (name, size, needed) => {
    expect(() => read({ WORKERS: '4', [name]: size })).toThrow(
      `${name} is ${size}, too few for 4 workers, which share it out: set it to ${needed} or more, or lower WORKERS`,
    );
    expect(() => read({ WORKERS: '4', [name]: needed })).not.toThrow();
  });

  it('shares the pools out: the shares differ by one at most, and add up to the setting', () => {
    const config = read({
      WORKERS: '3',
      DATABASE_POOL_SIZE: '11',
      DEAR_READ_CONNECTIONS: '6',
      REPLICA_POOL_SIZE: '4',
    });
    const shares = numbers(3).map((number) => configOfWorker(config, number));
    expect(shares.map(({ databasePoolSize }) => databasePoolSize)).toEqual([4, 4, 3]);
    expect(shares.map(({ dearReadConnections }) => dearReadConnections)).toEqual([2, 2, 2]);
    expect(shares.map(({ replicaPoolSize }) => replicaPoolSize)).toEqual([2, 1, 1]);
  });
});
