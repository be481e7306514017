import { describe, expect, it } from '@jest/globals';
import { BufferBudget, type BufferHolder } from './buffer-budget.js';

const MB = 1_000_000;

class Holder implements BufferHolder {
  bufferedBytes = 0;
  isPaused = false;
  isOver = false;
  failure: string | undefined;

  constructor(
    readonly credentialId: string,
    budget: BufferBudget,
  ) {
    budget.add(this);
  }

  pause(): void {
    this.isPaused = true;
  }

  resume(): void {
    this.isPaused = false;
  }

  shed({ reason }: { reason: string }): void {
    this.failure = reason;
    this.bufferedBytes = 0;
    this.isOver = true;
  }
}

const newBudget = (): BufferBudget => new BufferBudget(80 * MB, { line: () => undefined });

describe('the budget of buffered bytes', () => {
  it('has an eighth for a credential; above it none of its connections is read, until it holds less', () => {
    const budget = newBudget();
    const [one, same, other] = [new Holder('a', budget), new Holder('a', budget), new Holder('b', budget)];
    other.bufferedBytes = 9 * MB;
    one.bufferedBytes = 6 * MB;
    same.bufferedBytes = 5 * MB;
    budget.look(0);
    expect([one.isPaused, same.isPaused, other.isPaused]).toEqual([true, true, false]);
    same.bufferedBytes = 3 * MB;
    budget.look(100);
    expect(one.isPaused).toBe(true);
    one.bufferedBytes = 1 * MB;
    budget.look(200);
    expect([one.isPaused, same.isPaused]).toEqual([false, false]);
    expect(budget.bufferedBytes).toBe(13 * MB);
  });

  it('ends the largest connection of a credential that was paused for 3 s, and then the next one', () => {
    const budget = newBudget();
    const [large, small] = [new Holder('a', budget), new Holder('a', budget)];
    large.bufferedBytes = 30 * MB;
    small.bufferedBytes = 11 * MB;
    budget.look(0);
    budget.look(2_900);
    expect([large.failure, small.failure]).toEqual([undefined, undefined]);
    budget.look(3_100);
    expect([large.failure, small.failure]).toEqual(['memory', undefined]);
    budget.look(3_200);
    expect(small.failure).toBe('memory');
  });

  it('pauses the largest credential when all together are above it', () => {
    const budget = newBudget();
    const holders = Array.from({ length: 10 }, (_, n) => new Holder(`credential ${n}`, budget));
    for (const [n, holder] of holders.entries()) holder.bufferedBytes = (9 + n / 20) * MB;
    budget.look(0);
    expect(holders.filter(({ isPaused }) => isPaused).map(({ credentialId }) => credentialId)).toEqual([
      'credential 9',
    ]);
  });

  it('counts a connection that is gone until its visitors have taken what it had', () => {
    const budget = newBudget();
    const gone = new Holder('a', budget);
    gone.bufferedBytes = 6 * MB;
    gone.isOver = true;
    const next = new Holder('a', budget);
    next.bufferedBytes = 6 * MB;
    budget.look(0);
    expect(next.isPaused).toBe(true);
    gone.bufferedBytes = 0;
    budget.look(100);
    expect([next.isPaused, budget.bufferedBytes]).toEqual([false, 6 * MB]);
  });

  it('pauses a new connection of a paused credential', () => {
    const budget = newBudget();
    new Holder('a', budget).bufferedBytes = 20 * MB;
    budget.look(0);
    expect(new Holder('a', budget).isPaused).toBe(true);
    expect(new Holder('b', budget).isPaused).toBe(false);
  });
});
