import { expect, it } from '@jest/globals';
import { ClientQuestions } from './client-questions.js';

/** Questions that are answered by hand, and the order in which they were asked. */
function held() {
  const questions = new ClientQuestions<boolean>();
  const asked: string[] = [];
  const answers: ((isAllowed: boolean) => void)[] = [];
  const ask = (accountId: string, source: string, n = 0, isWanted = () => true, isReview = false) => {
    const text = `${accountId} ${source} ${n}`;
    return questions.ask({ accountId, source, isReview, text }, isWanted, () => {
      asked.push(text);
      return new Promise((resolve) => answers.push(resolve));
    });
  };
  const answer = async (isAllowed = true): Promise<void> => {
    answers.shift()?.(isAllowed);
    await new Promise(setImmediate);
  };
  return { ask, asked, answer };
}

it('16 questions are under way at once, and each gets its own answer', async () => {
  const { ask, asked, answer } = held();
  const all = Array.from({ length: 20 }, (_, n) => ask('a', 's', n));
  expect(asked).toHaveLength(16);
  for (let n = 0; n < 20; n += 1) await answer(n % 2 === 0);
  expect(await Promise.all(all)).toEqual(all.map((_, n) => n % 2 === 0));
});

it('accounts take turns, and the sources within an account', async () => {
  const { ask, asked, answer } = held();
  for (let n = 0; n < 100; n += 1) void ask('a', 'flood', n);
  void ask('a', 'guest');
  void ask('b', 's');
  for (let n = 0; n < 3; n += 1) await answer();
  expect(asked.slice(16)).toEqual(['a flood 16', 'b s 0', 'a guest 0']);
});

it('new clients come between the reviews of their account, and wait for no question of a review', async () => {
  const { ask, asked, answer } = held();
  const wanted = () => true;
  for (let n = 0; n < 100; n += 1) void ask('a', `s${n}`, n, wanted, true);
  void ask('a', 's90', 90);
  void ask('a', 'guest');
  for (let n = 0; n < 4; n += 1) await answer();
  expect(asked.slice(16)).toEqual(['a s16 16', 'a s90 90', 'a s17 17', 'a guest 0']);
});

it('a question that waits already is asked once; one that is under way is asked again', async () => {
  const { ask, asked, answer } = held();
  const first = ask('a', 's', 1);
  for (let n = 2; n < 17; n += 1) void ask('a', 's', n);
  const again = [ask('a', 's', 1), ask('a', 's', 1)];
  expect(asked).toHaveLength(16);
  await answer(true);
  expect(await first).toBe(true);
  expect(asked).toHaveLength(17);
  for (let n = 0; n < 15; n += 1) await answer();
  await answer(false);
  expect(await Promise.all(again)).toEqual([false, false]);
});

it('a question that fails fails for those who wait for it, and others go on', async () => {
  const questions = new ClientQuestions<boolean>();
  const asked = { accountId: 'a', source: 's', isReview: false, text: 'x' };
  await expect(
    questions.ask(
      asked,
      () => true,
      () => Promise.reject(new Error('away')),
    ),
  ).rejects.toThrow('away');
  expect(
    await questions.ask(
      asked,
      () => true,
      () => Promise.resolve(true),
    ),
  ).toBe(true);
});

it('a question whose clients are all gone is not asked, and has no answer', async () => {
  const { ask, asked, answer } = held();
  for (let n = 0; n < 16; n += 1) void ask('a', 's', n);
  const gone = Array.from({ length: 1_000 }, (_, n) => ask('a', 'flood', n, () => false));
  const shared = [ask('a', 'both', 1, () => false), ask('a', 'both', 1, () => true)];
  await answer();
  expect(asked.slice(16)).toEqual(['a both 1']);
  for (let n = 0; n < 16; n += 1) await answer();
  expect(await Promise.all(shared)).toEqual([true, true]);
  expect(new Set(await Promise.all(gone))).toEqual(new Set([undefined]));
});
