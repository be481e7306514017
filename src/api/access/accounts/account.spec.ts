import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, given, withCommand } from '../../../../test/support/given.js';
import { type Account, type AccountEvent, create, evolve, setAdmin } from './account.js';

type Command = { readonly id: string; readonly isAdmin: boolean };

const decisionOf =
  ({ id, isAdmin }: Command): Decision<Account, AccountEvent> =>
  (state) =>
    setAdmin(state, id, isAdmin);

const of = (...admins: string[]): Account => ({ name: 'a', admins });

describe('an account', () => {
  it('is created with its name and first admin', () => {
    const account = of('usr_1');
    expect(given(evolve, ...create(account)).state).toEqual(account);
  });

  it('never loses its last active admin', () => {
    const alone = given(evolve, ...create(of('usr_1')));
    expect(alone.when(decisionOf({ id: 'usr_1', isAdmin: false }))).toContain('last active admin');
    expect(setAdmin(of('usr_1', 'usr_2'), 'usr_1', false)).toEqual([
      { type: 'account_admins_changed.v1', data: { admins: ['usr_2'] } },
    ]);
    expect(setAdmin(of('usr_1'), 'usr_3', false)).toEqual([]);
  });

  it('law: a repeated command changes nothing, and the account always has an admin', () => {
    const command = fc.record({ id: fc.constantFrom('usr_1', 'usr_2', 'usr_3'), isAdmin: fc.boolean() });
    const first = create(of('usr_1'));
    const stateAfter = (commands: readonly Command[]) =>
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
