import { describe, expect, it } from '@jest/globals';
import { type Party, QueueShares } from './queue-shares.js';

const of = (accountId: string, source?: string): Party => ({ accountId, source });
const many = (count: number, party: Party): Party[] => Array.from({ length: count }, () => party);

/** How many single decisions the party can queue. */
function fill(shares: QueueShares, party: Party): number {
  let count = 0;
  while (shares.take([party])) count += 1;
  return count;
}

describe('the places of a queue', () => {
  it('leave room for another account, however much one asks', () => {
    const shares = new QueueShares(1_000);
    expect(fill(shares, of('a'))).toBe(500);
    expect(fill(shares, of('b'))).toBe(250);
    expect(fill(shares, of('c'))).toBe(125);
    expect(shares.take([of('d')])).toBe(true);
  });

  it('leave room for another source of the account, and for another account', () => {
    const shares = new QueueShares(900);
    expect(fill(shares, of('a', '192.0.2.7:5000'))).toBe(300);
    expect(shares.take([of('a', '192.0.2.7:5001')])).toBe(false);
    expect(fill(shares, of('a', '192.0.2.8'))).toBeGreaterThan(100);
    expect(fill(shares, of('b'))).toBeGreaterThan(200);
  });

  it('one /64 of IPv6 is one source', () => {
    const shares = new QueueShares(90);
    expect(fill(shares, of('a', '[2001:db8::1]:22'))).toBe(30);
    expect(shares.take([of('a', '2001:db8::ffff')])).toBe(false);
    expect(shares.take([of('a', '2001:db8:0:1::1')])).toBe(true);
  });

  it('can all be taken by one question, and are free again when they are given back', () => {
    const shares = new QueueShares(1_000);
    const all = many(1_000, of('a', '192.0.2.7'));
    expect(shares.take([...all, of('a')])).toBe(false);
    expect(shares.take(all)).toBe(true);
    expect(shares.take([of('b')])).toBe(false);
    shares.giveBack(all);
    expect(fill(shares, of('a'))).toBe(500);
  });
});
