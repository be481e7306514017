import { expect, it } from '@jest/globals';
import { type OfAccount, readEachAccount } from './read-each-account.js';

interface Item extends OfAccount {
  readonly name: string;
}
const item = (name: string, isNeeded = false): Item => ({ name, accountId: name.slice(0, 1), isNeeded });
const NEVER = new Promise(() => undefined);

it('reads one item of each account at a time', async () => {
  const [begun, ends]: [string[], (() => void)[]] = [[], []];
  const items = ['a1', 'b1', 'a2', 'a3', 'b2'].map((name) => item(name));
  const read = ({ name }: Item): Promise<void> => {
    begun.push(name);
    return new Promise((resolve) => ends.push(resolve));
  };
  const all = readEachAccount(items, read, NEVER);
  for (const expected of [['a1', 'b1'], ['a2', 'b2'], ['a3']]) {
    expect(begun.splice(0)).toEqual(expected);
    for (const end of ends.splice(0)) end();
    await new Promise(setImmediate);
  }
  expect([...(await all).keys()]).toEqual(['a1', 'b1', 'a2', 'b2', 'a3'].map((name) => item(name)));
});

it('reads only what is needed once the time is up, and first', async () => {
  let endTime: (value?: unknown) => void = () => undefined;
  const timeUp = new Promise((resolve) => {
    endTime = resolve;
  });
  const begun: string[] = [];
  const items = [item('a1'), item('a2'), item('a3', true), item('b1'), item('b2'), item('c1', true), item('c2')];
  const all = readEachAccount(
    items,
    async ({ name }) => {
      begun.push(name);
      if (name === 'a1' || name === 'b2') await NEVER;
      if (name === 'c1') {
        await new Promise(setImmediate);
        endTime();
        await new Promise(setImmediate);
      }
      return name;
    },
    timeUp,
  );
  expect([...(await all).values()].sort()).toEqual(['a3', 'b1', 'c1']);
  expect(begun.sort()).toEqual(['a1', 'a3', 'b1', 'b2', 'c1']);
});
