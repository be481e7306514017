import { expect, it } from '@jest/globals';
import { PolicyMemory } from './policy-memory.js';

/** A memory of 100 bytes for each account, and what may have room again. */
function memory() {
  const freed: string[] = [];
  const of = new PolicyMemory(100, (hostports) => void freed.push(...hostports));
  const set = (hostport: string, digest: string, bytes: number, accountId = 'ac_1') =>
    of.set(hostport, { accountId, digest, bytes, policy: policyOf(bytes) });
  return { of, set, freed };
}
const policyOf = (memoryBytes: number) => ({ enabled: true, rules: [], ipPolicyIds: [], memoryBytes });

it('each account has the same limit, and each text counts once', () => {
  const { set } = memory();
  expect([set('a:1', 'x', 60), set('a:2', 'x', 60), set('a:3', 'y', 41), set('a:4', 'y', 40)]).toEqual([
    true,
    true,
    false,
    true,
  ]);
  expect(set('b:1', 'x', 100, 'ac_2')).toBe(true);
});

it('the new policy of a hostport counts instead of the old one', () => {
  const { of, set, freed } = memory();
  expect([set('a:1', 'x', 80), set('a:1', 'y', 90), set('a:1', 'y', 100)]).toEqual([true, true, true]);
  expect([of.known('ac_1', 'x'), of.known('ac_1', 'y')?.memoryBytes]).toEqual([undefined, 100]);
  expect(freed).toEqual([]);
});

it('a policy is known while a hostport needs it', () => {
  const { of, set } = memory();
  set('a:1', 'x', 10);
  set('a:2', 'x', 10);
  of.set('a:1', undefined);
  expect(of.known('ac_1', 'x')?.memoryBytes).toBe(10);
  expect(of.known('ac_2', 'x')).toBeUndefined();
  of.set('a:2', undefined);
  expect(of.known('ac_1', 'x')).toBeUndefined();
});

it('hostports without room are named once they may have some, and those that are too large never', () => {
  const { of, set, freed } = memory();
  set('a:1', 'x', 60);
  set('a:2', 'z', 30);
  expect([set('a:3', 'y', 70), set('a:4', 'w', 101)]).toEqual([false, false]);
  of.set('a:2', undefined);
  expect(freed).toEqual([]);
  set('a:1', 'x2', 20);
  expect(freed).toEqual(['a:3']);
  expect([set('a:3', 'y', 70), set('a:4', 'w', 101)]).toEqual([true, false]);
  of.set('a:4', undefined);
  of.set('a:3', undefined);
  of.set('a:1', undefined);
  expect(freed).toEqual(['a:3']);
});
