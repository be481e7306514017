import { beforeEach, describe, expect, it } from '@jest/globals';
import { LimitedWork } from './limited-work.js';

/** Work that began and did not end, in the order in which it began. */
let running: { readonly name: string; readonly end: () => void }[];
let work: LimitedWork;

beforeEach(() => {
  running = [];
  work = new LimitedWork({ noun: 'reads', atOnce: 4, atOnceOfAccount: 2, waiting: 100, waitingOfAccount: 50 });
});

function run(account: string, name = account, signal?: AbortSignal): Promise<void> {
  return work.run(account, () => new Promise((end) => running.push({ name, end })), signal);
}

const names = (): string[] => running.map(({ name }) => name);

async function end(name: string): Promise<void> {
  const [one] = running.splice(names().indexOf(name), 1);
  one?.end();
  await new Promise((resolve) => setImmediate(resolve));
}

describe('limited work', () => {
  it('runs so much at once, and so much of one account', async () => {
    for (const name of ['a1', 'a2', 'a3']) void run('a', name);
    for (const account of ['b', 'c', 'd']) void run(account);
    expect([names(), work.waiting]).toEqual([['a1', 'a2', 'b', 'c'], 2]);
    await end('a1');
    expect(names()).toEqual(['a2', 'b', 'c', 'd']);
    await end('b');
    expect([names(), work.waiting]).toEqual([['a2', 'c', 'd', 'a3'], 0]);
  });

  it('gives an account all places while no other waits, and the next one to the account that used least', async () => {
    work = new LimitedWork({ noun: 'lists', atOnce: 2 });
    for (let n = 0; n < 10; n += 1) void run('flood');
    expect(names()).toEqual(['flood', 'flood']);
    void run('neighbour');
    await end('flood');
    expect(names()).toEqual(['flood', 'neighbour']);
  });

  it('refuses an account with 429 when too much of it waits, and all with 503 when too much of all does', () => {
    for (let n = 0; n < 52; n += 1) void run('a');
    expect(() => work.refuseIfFull('a')).toThrow('already has 50 reads waiting');
    expect(() => work.refuseIfFull('a')).toThrow(expect.objectContaining({ status: 429 }));
    work.refuseIfFull('b');
    for (let n = 0; n < 54; n += 1) void run(`b${n}`);
    expect(() => work.refuseIfFull('late')).toThrow(expect.objectContaining({ status: 503 }));
  });

  it('passes over work that gave up while it waited, and rejects it with the reason', async () => {
    const leaving = new AbortController();
    for (const name of ['a1', 'a2']) void run('a', name);
    const left = run('a', 'left', leaving.signal);
    void run('a', 'a3');
    leaving.abort(new Error('gone'));
    await expect(left).rejects.toThrow('gone');
    expect(work.waiting).toBe(1);
    await end('a1');
    expect(names()).toEqual(['a2', 'a3']);
    await expect(run('b', 'late', leaving.signal)).rejects.toThrow('gone');
  });

  it('gives the place of work that failed to the next', async () => {
    const failing = [
      work.run('a', () => Promise.reject(new Error('failed'))),
      work.run('a', () => {
        throw new Error('failed');
      }),
    ];
    for (const failed of failing) await expect(failed).rejects.toThrow('failed');
    await Promise.all([run('a', 'next'), end('next')]);
    expect(work.waiting).toBe(0);
  });
});
