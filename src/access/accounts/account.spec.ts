import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Account, create, evolve, setAdmin } from './account.js';

const of = (...admins: string[]): Account => ({ name: 'a', admins });

describe('an account', () => {
  it('is created with its name and first admin', () => {
    const account = of('usr_1');
    expect(create(account)(undefined).reduce(evolve, undefined as Account | undefined)).toEqual(account);
    expect(create(account)(account)).toEqual([]);
  });

  it('never loses its last active admin', () => {
    expect(() => setAdmin({ id: 'usr_1', isAdmin: false })(of('usr_1'))).toThrow('last active admin');
    expect(setAdmin({ id: 'usr_1', isAdmin: false })(of('usr_1', 'usr_2'))).toEqual([
      { type: 'account_admins_changed.v1', data: { admins: ['usr_2'] } },
    ]);
    expect(setAdmin({ id: 'usr_3', isAdmin: false })(of('usr_1'))).toEqual([]);
  });

  it('law: a repeated command changes nothing, and the account always has an admin', () => {
    const command = fc.record({ id: fc.constantFrom('usr_1', 'usr_2', 'usr_3'), isAdmin: fc.boolean() });
    const apply = (state: Account, args: { id: string; isAdmin: boolean }): Account => {
      try {
        return setAdmin(args)(state).reduce<Account>(evolve, state);
      } catch {
        return state;
      }
    };
    fc.assert(
      fc.property(fc.array(command), command, (history, last) => {
        const before = history.reduce(apply, of('usr_1'));
        const after = apply(before, last);
        expect(apply(after, last)).toEqual(after);
        expect(after.admins.length).toBeGreaterThan(0);
        expect(new Set(after.admins).size).toBe(after.admins.length);
      }),
    );
  });
});
