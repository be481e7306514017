import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Decision, expectRepetitionsToRecordNothing, given, withCommand } from '../../../../test/support/given.js';
import type { Role } from '../../../kernel/caller.js';
import {
  changeBotRole,
  createBot,
  createUser,
  evolve,
  isActiveAdmin,
  type Principal,
  type PrincipalEvent,
  remove,
  updateBot,
  updateUser,
} from './principal.js';

const stateAfter = (...decisions: Decision<Principal, PrincipalEvent>[]): Principal | undefined =>
  given(evolve, ...decisions.reduce<readonly PrincipalEvent[]>((h, d) => withCommand(evolve, h, d), [])).state;

const user = createUser({ email: 'a@example.test', role: 'admin' });
const bot = createBot({ name: 'b', active: true });

describe('a user', () => {
  it('is created active', () => {
    expect(user(undefined)).toEqual([{ type: 'user_created.v1', data: { email: 'a@example.test', role: 'admin' } }]);
    expect(stateAfter(user)).toEqual({
      kind: 'user',
      name: '',
      email: 'a@example.test',
      role: 'admin',
      active: true,
      deleted: false,
    });
  });

  it('records only the changed fields of an update', () => {
    expect(updateUser({ role: 'admin', active: false })(stateAfter(user))).toEqual([
      { type: 'user_updated.v1', data: { active: false } },
    ]);
  });

  it('is an active admin while it is active and has the role admin', () => {
    expect(isActiveAdmin(stateAfter(user))).toBe(true);
    expect(isActiveAdmin(stateAfter(user, updateUser({ active: false })))).toBe(false);
    expect(isActiveAdmin(stateAfter(user, updateUser({ role: 'member' })))).toBe(false);
    expect(isActiveAdmin(stateAfter(user, remove))).toBe(false);
    expect(isActiveAdmin(stateAfter(bot))).toBe(false);
  });

  it('leaves a row without name, email and rights when it is deleted', () => {
    expect(stateAfter(user, remove)).toEqual({
      kind: 'user',
      name: '',
      email: '',
      role: 'member',
      active: false,
      deleted: true,
    });
    const gone = [...user(undefined), ...remove(stateAfter(user))];
    for (const decide of [remove, updateUser({ active: true }), updateBot({ active: true })]) {
      for (const history of [gone, []]) expect(given(evolve, ...history).when(decide)).toContain('Resource not found');
    }
  });
});

describe('a bot', () => {
  it('has the role member until it is changed, and again when it is deleted', () => {
    expect(stateAfter(bot)).toMatchObject({ kind: 'bot', name: 'b', role: 'member' });
    expect(stateAfter(bot, changeBotRole('auditor'))).toMatchObject({ name: 'b', role: 'auditor', active: true });
    expect(stateAfter(bot, changeBotRole('auditor'), remove)).toMatchObject({ role: 'member', deleted: true });
    expect(changeBotRole('auditor')(stateAfter(bot, changeBotRole('auditor')))).toEqual([]);
  });

  it('records only the changed fields of an update', () => {
    expect(updateBot({ name: 'c', active: true })(stateAfter(bot))).toEqual([
      { type: 'bot_user_updated.v1', data: { name: 'c' } },
    ]);
    expect(remove(stateAfter(bot))).toEqual([{ type: 'bot_user_deleted.v1', data: {} }]);
  });
});

it('law: a repeated command records no event', () => {
  const role = fc.constantFrom<Role>('admin', 'member', 'auditor');
  const decision: fc.Arbitrary<Decision<Principal, PrincipalEvent>> = fc.oneof(
    role.map((r) => createUser({ email: 'a@example.test', role: r })),
    fc.record({ role, active: fc.boolean() }, { requiredKeys: [] }).map(updateUser),
    fc.constantFrom<Role>('member', 'auditor', 'admin').map(changeBotRole),
    fc.constant(remove),
  );
  expectRepetitionsToRecordNothing(evolve, decision);
});
