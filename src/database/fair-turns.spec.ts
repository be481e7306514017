import { beforeEach, describe, expect, it } from '@jest/globals';
import { FairTurns } from './fair-turns.js';

const LIMITS = { running: 2, runningPerAccount: 1, waiting: 5, waitingPerAccount: 3 };
const NEVER = new AbortController().signal;

let turns: FairTurns;
/** Accounts in the order in which their turns began. */
let began: string[];

beforeEach(() => {
  turns = new FairTurns(LIMITS);
  began = [];
});

function begin(accountId: string, signal = NEVER): void {
  turns.begin(accountId, signal).then(
    () => began.push(accountId),
    () => undefined,
  );
}

const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('FairTurns', () => {
  it('runs no more at once than the limits of all and of one account', async () => {
    for (const account of ['a', 'a', 'b', 'c']) begin(account);
    await settled();
    expect(began).toEqual(['a', 'b']);
  });

  it('gives the next turn to the accounts in rotation, however many wait of one', async () => {
    for (const account of ['a', 'a', 'a', 'b', 'c', 'b']) begin(account);
    for (const account of ['a', 'b', 'a', 'b']) {
      await settled();
      turns.end(account);
    }
    await settled();
    expect(began).toEqual(['a', 'b', 'a', 'b', 'c', 'a']);
  });

  it('refuses an account with 429 when its own queue is full, and others not', () => {
    for (const account of ['a', 'a', 'a', 'a']) begin(account);
    expect(() => turns.refuseIfFull('a')).toThrow(expect.objectContaining({ status: 429 }));
    expect(() => turns.refuseIfFull('b')).not.toThrow();
  });

  it('refuses every account with 503 when the queue of all is full, until one leaves it', async () => {
    const leaving = new AbortController();
    for (const account of ['a', 'a', 'a', 'b', 'b', 'c']) begin(account);
    begin('d', leaving.signal);
    for (const account of ['a', 'e']) {
      expect(() => turns.refuseIfFull(account)).toThrow(expect.objectContaining({ status: 503 }));
    }
    leaving.abort();
    expect(() => turns.refuseIfFull('e')).not.toThrow();
  });

  it('passes over a request that gave up while it waited', async () => {
    const leaving = new AbortController();
    begin('a');
    begin('a', leaving.signal);
    begin('a');
    leaving.abort();
    await settled();
    turns.end('a');
    await settled();
    expect(began).toEqual(['a', 'a']);
    turns.end('a');
    await settled();
    expect(began).toEqual(['a', 'a']);
  });
});
