import { expect, it } from '@jest/globals';
import type { ReadRequest } from '../http/request-context.js';
import { Lists } from './lists.js';

const by = (accountId: string) => ({ caller: { accountId } }) as ReadRequest;

it('reads the next page of an account when the answer of the last one is made, and that of another account at once', async () => {
  const lists = new Lists();
  const steps: string[] = [];
  const page = (accountId: string, name: string) =>
    lists.page(
      by(accountId),
      async () => steps.push(`${name} read`),
      () => steps.push(`${name} answered`),
    );
  await Promise.all([page('a', 'a1'), page('a', 'a2'), page('b', 'b1')]);
  expect(steps.slice(0, 2)).toEqual(['a1 read', 'b1 read']);
  expect(steps.filter((step) => step.startsWith('a'))).toEqual(['a1 read', 'a1 answered', 'a2 read', 'a2 answered']);
});
