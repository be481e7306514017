import { expect, it } from '@jest/globals';
import type { ReadRequest } from '../../http/request-context.js';
import { CheckLimit } from './check-limit.js';

const never = (): Promise<void> => new Promise(() => undefined);

it('checks of an account come one at a time, 50 wait, and those whose clients have gone are not worked on', async () => {
  const limit = new CheckLimit();
  const leaving = new AbortController();
  const begun: string[] = [];
  const check = (accountId: string, work = never, signal?: AbortSignal) =>
    limit.run({ caller: { accountId }, signal } as ReadRequest, () => {
      begun.push(accountId);
      return work();
    });
  let end = (): void => undefined;
  const first = check('a', () => new Promise<void>((resolve) => (end = resolve)));
  const gone = Array.from({ length: 49 }, () => check('a', never, leaving.signal));
  void check('a');
  await expect(check('a')).rejects.toMatchObject({ status: 429 });
  leaving.abort(new Error('gone'));
  expect((await Promise.allSettled(gone)).every(({ status }) => status === 'rejected')).toBe(true);
  end();
  await first;
  for (const account of ['b', 'c']) void check(account);
  expect(begun).toEqual(['a', 'a', 'b']);
});
