import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, given, withCommand } from '../../../../test/support/given.js';
import { type Account, type AccountEvent, create, evolve, setAdmin } from './account.js';

const decisionOf =
  (args: Parameters<typeof setAdmin>[0]): Decision<Account, AccountEvent> =>
  (state) =>
    setAdmin(args)(state ?? of());

const of = (...admins: string[]): Account => ({ name: 'a', admins });

describe('an account', () => {
  it('is created with its name and first admin', () => {
    const account = of('usr_1');
    expect(given(evolve, ...create(account)(undefined)).state).toEqual(account);
    expect(create(account)(account)).toEqual([]);
  });

  it('never loses its last active admin', () => {
    const alone = given(evolve, ...create(of('usr_1'))(undefined));
    expect(alone.when(decisionOf({ id: 'usr_1', isAdmin: false }))).toContain('last active admin');
    expect(setAdmin({ id: 'usr_1', isAdmin: false })(of('usr_1', 'usr_2'))).toEqual([
      { type: 'account_admins_changed.v1', data: { admins: ['usr_2'] } },
    ]);
    expect(setAdmin({ id: 'usr_3', isAdmin: false })(of('usr_1'))).toEqual([]);
  });

  it('law: a repeated command changes nothing, and the account always has an admin', () => {
    const command = fc.record({ id: fc.constantFrom('usr_1', 'usr_2', 'usr_3'), isAdmin: fc.boolean() });
    const first = create(of('usr_1'))(undefined);
    const stateAfter = (commands: readonly Parameters<typeof setAdmin>[0][]) =>
      given(evolve, ...commands.reduce((h, one) => withCommand(evolve, h, decisionOf(one)), first)).state;
    fc.assert(
      fc.property(fc.array(command), command, (history, last) => {
        const once = stateAfter([...history, last]);
        expect(stateAfter([...history, last, last])).toEqual(once);
        expect(once?.admins.length).toBeGreaterThan(0);
        expect(new Set(once?.admins).size).toBe(once?.admins.length);
      }),
    );
  });
});
