import { describe, expect, it } from '@jest/globals';
import type { ReadRequest } from '../../http/request-context.js';
import { CheckTurns } from './check-turns.js';

const requestOf = (accountId: string) => ({ caller: { accountId } }) as ReadRequest;
const never = (): Promise<void> => new Promise(() => undefined);

describe('CheckTurns', () => {
  it('refuse an account with 429 beyond 50 that wait, and no other account', async () => {
    const turns = new CheckTurns();
    for (let n = 0; n < 51; n += 1) void turns.run(requestOf('a'), never);
    await expect(turns.run(requestOf('a'), never)).rejects.toMatchObject({ status: 429 });
    await expect(turns.run(requestOf('a'), never)).rejects.toThrow('already has 50 checks waiting');
    await expect(turns.run(requestOf('b'), () => Promise.resolve('done'))).resolves.toBe('done');
  });

  it('refuse every account with 503 beyond 1,000 of all that wait', async () => {
    const turns = new CheckTurns();
    for (let n = 0; n < 1_002; n += 1) void turns.run(requestOf(`a${n % 100}`), never);
    await expect(turns.run(requestOf('late'), never)).rejects.toMatchObject({ status: 503 });
  });

  it('work on two checks at once, and on one of an account', () => {
    const turns = new CheckTurns();
    const began: string[] = [];
    for (const accountId of ['a', 'a', 'b', 'c']) {
      void turns.run(requestOf(accountId), () => {
        began.push(accountId);
        return never();
      });
    }
    expect(began).toEqual(['a', 'b']);
  });
});
