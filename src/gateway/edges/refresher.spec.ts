import { expect, it } from '@jest/globals';
import { Refresher } from './refresher.js';

const NO_ACCOUNT = { account: '', isUrgent: false };
const done = async (): Promise<void> => undefined;
/** An answer for each key. */
const answersTo = (keys: readonly string[]) => new Map(keys.map((key) => [key, key]));
const numbered = (count: number, prefix: string): string[] => Array.from({ length: count }, (_, n) => `${prefix}${n}`);
const turn = (): Promise<void> => new Promise(setImmediate);

/** Questions that are answered by hand, in their order. */
function heldQuestions(claimOf: (key: string) => { account: string; isUrgent: boolean } = () => NO_ACCOUNT) {
  const asked: (readonly string[])[] = [];
  const answers: (() => void)[] = [];
  const ask = (keys: readonly string[]) =>
    new Promise<ReadonlyMap<string, string>>((resolve) => {
      asked.push(keys);
      answers.push(() => resolve(answersTo(keys)));
    });
  const applied: string[] = [];
  const refresher = new Refresher<string>(ask, async (key) => void applied.push(key), claimOf);
  const answer = async (): Promise<void> => {
    answers.shift()?.();
    await turn();
    await turn();
  };
  return { refresher, asked, applied, answer };
}

it('a key that is asked for while it is under way is asked once more, however often it is asked for', async () => {
  const { refresher, asked, answer } = heldQuestions();
  const first = refresher.refresh(['a']);
  await turn();
  const later = [1, 2, 3].map(() => refresher.refresh(['a']));
  expect(asked).toEqual([['a']]);
  await answer();
  await first;
  expect(asked).toEqual([['a'], ['a']]);
  await answer();
  await Promise.all(later);
  await refresher.idle();
  expect(asked).toHaveLength(2);
});

it('a question has up to 200 keys, and four of an account are under way at once', async () => {
  const { refresher, asked, answer, applied } = heldQuestions();
  const all = refresher.refresh(numbered(1_001, 'a'));
  await turn();
  expect(asked.map(({ length }) => length)).toEqual([200, 200, 200, 200]);
  for (let n = 0; n < 6; n += 1) await answer();
  await all;
  expect(asked.map(({ length }) => length)).toEqual([200, 200, 200, 200, 200, 1]);
  expect(new Set(applied).size).toBe(1_001);
});

it('an account with many keys does not delay another one, whose question is under way at once', async () => {
  const { refresher, asked } = heldQuestions();
  void refresher.refresh(numbered(5_000, 'a'), 'many');
  await turn();
  void refresher.refresh(['b1'], 'few');
  await turn();
  expect(asked.map(([first]) => first)).toEqual(['a0', 'a200', 'a400', 'a600', 'b1']);
});

it('of many accounts 16 questions are under way at once, and one of another account is soon', async () => {
  const { refresher, asked, answer } = heldQuestions();
  for (const account of ['a', 'b', 'c', 'd', 'e']) void refresher.refresh(numbered(5_000, account), account);
  await turn();
  expect(asked).toHaveLength(16);
  void refresher.refresh(['z'], 'few');
  for (let n = 0; n < 6; n += 1) await answer();
  expect(asked.slice(16).map(([first]) => first)).toContain('z');
});

it('a served port comes before the other keys of its account', async () => {
  const isUrgent = (key: string): boolean => key.startsWith('served');
  const { refresher, asked, answer } = heldQuestions((key) => ({ account: 'one', isUrgent: isUrgent(key) }));
  void refresher.refresh(numbered(2_000, 'a'));
  await turn();
  void refresher.refresh(['served']);
  await answer();
  expect(asked.at(-1)?.slice(0, 2)).toEqual(['served', 'a800']);
});

it('a key that the answer has no room for is asked again', async () => {
  const asked: (readonly string[])[] = [];
  const ask = async (keys: readonly string[]) => {
    asked.push(keys);
    return answersTo(keys.slice(0, 2));
  };
  const applied: string[] = [];
  const refresher = new Refresher<string>(
    ask,
    async (key) => void applied.push(key),
    () => NO_ACCOUNT,
  );
  await refresher.refresh(numbered(5, 'a'));
  expect(asked.map(({ length }) => length)).toEqual([5, 3, 1]);
  expect(applied).toEqual(numbered(5, 'a'));
});

it('a failed question and a failed application reject the whole, and leave no key behind', async () => {
  let fails = true;
  const ask = async (keys: readonly string[]) => {
    if (fails) throw new Error('not asked');
    return answersTo(keys);
  };
  const refresher = new Refresher<string>(ask, done, () => NO_ACCOUNT);
  await expect(refresher.refresh(numbered(300, 'a'))).rejects.toThrow('not asked');
  await refresher.idle();
  fails = false;
  await refresher.refresh(numbered(300, 'a'));
  const apply = async (key: string): Promise<void> => {
    if (key === 'a7') throw new Error('seven');
  };
  const other = new Refresher<string>(ask, apply, () => NO_ACCOUNT);
  await expect(other.refresh(numbered(30, 'a'))).rejects.toThrow('seven');
  await other.idle();
});

it('the next question does not wait until an answer is applied', async () => {
  const { promise, release } = heldPromise();
  const asked: (readonly string[])[] = [];
  const ask = async (keys: readonly string[]) => {
    asked.push(keys);
    return answersTo(keys);
  };
  const refresher = new Refresher<string>(
    ask,
    () => promise,
    () => NO_ACCOUNT,
  );
  const all = numbered(6, 'a').map((key) => refresher.refresh([key], key));
  for (let n = 0; n < 4; n += 1) await turn();
  expect(asked).toHaveLength(6);
  release();
  await Promise.all(all);
});

it('keys of unknown accounts that answers leave out do not delay those that were not asked yet', async () => {
  const applied: string[] = [];
  let asked = 0;
  const ask = async (keys: readonly string[]) => {
    asked += 1;
    await turn();
    return answersTo(keys.filter((key) => !key.startsWith('slow') || asked > 200));
  };
  const refresher = new Refresher<string>(
    ask,
    async (key) => void applied.push(key),
    () => NO_ACCOUNT,
  );
  const slow = refresher.refresh(numbered(10_000, 'slow'));
  while (asked < 120) await turn();
  const before = asked;
  await refresher.refresh(['late']);
  expect(asked - before).toBeLessThanOrEqual(16);
  await slow;
  expect(applied).toHaveLength(10_001);
});

function heldPromise() {
  let release = (): void => undefined;
  const promise = new Promise<void>((resolve) => {
    release = resolve;
  });
  return { promise, release: () => release() };
}
