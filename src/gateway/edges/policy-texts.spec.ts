import { expect, it } from '@jest/globals';
import { PolicyTexts } from './policy-texts.js';

/** Room for 100 bytes of each account, and what may have room again. */
function trial() {
  const freed: string[] = [];
  const texts = new PolicyTexts((hostports) => void freed.push(...hostports), 100);
  const hold = (hostport: string, policyText: string | undefined, accountId = 'ac_1') => {
    const served = {
      ...{ id: 'edgtcp_1', accountId, labels: {}, restriction: null },
      ipPolicies: () => new Map(),
      policyText,
    };
    return texts.hold(hostport, { served, concerns: new Set(['edgtcp_1']) });
  };
  const isHeld = (...args: Parameters<typeof hold>): boolean => hold(...args).served !== undefined;
  return { hold, isHeld, freed };
}
const text = (name: string, bytes: number): string => name.padEnd(bytes, ' ');

it('each account has the same maximum, and each text counts once', () => {
  const { hold, isHeld } = trial();
  expect([isHeld('a:1', text('x', 60)), isHeld('a:2', text('x', 60)), isHeld('a:3', text('y', 40))]).toEqual([
    true,
    true,
    true,
  ]);
  expect(hold('a:4', text('z', 41))).toMatchObject({
    served: undefined,
    refusal: expect.stringContaining('edge edgtcp_1 is not served: the traffic policies of its account have more than'),
    concerns: new Set(['edgtcp_1']),
  });
  expect(isHeld('b:1', text('x', 100), 'ac_2')).toBe(true);
});

it('the new policy of a hostport counts instead of the old one', () => {
  const { isHeld, freed } = trial();
  expect([80, 90, 100].map((bytes) => isHeld('a:1', text('x', bytes)))).toEqual([true, true, true]);
  expect(isHeld('a:1', undefined)).toBe(true);
  expect(isHeld('a:2', text('y', 100))).toBe(true);
  expect(freed).toEqual([]);
});

it('hostports without room are named once they may have some, and those that are too large never', () => {
  const { isHeld, freed } = trial();
  expect([isHeld('a:1', text('x', 60)), isHeld('a:2', text('z', 30))]).toEqual([true, true]);
  expect([isHeld('a:3', text('y', 70)), isHeld('a:4', text('w', 101))]).toEqual([false, false]);
  isHeld('a:2', undefined);
  expect(freed).toEqual([]);
  isHeld('a:1', text('x2', 20));
  expect(freed).toEqual(['a:3']);
  expect([isHeld('a:3', text('y', 70)), isHeld('a:4', text('w', 101))]).toEqual([true, false]);
  for (const hostport of ['a:4', 'a:3', 'a:1']) isHeld(hostport, undefined);
  expect(freed).toEqual(['a:3']);
});
