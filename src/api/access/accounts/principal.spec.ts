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

type PrincipalDecision = Decision<Principal, PrincipalEvent>;

const stateAfter = (created: readonly PrincipalEvent[], ...decisions: PrincipalDecision[]): Principal | undefined =>
  given(evolve, ...decisions.reduce((history, decide) => withCommand(evolve, history, decide), created)).state;

const user = createUser({ email: 'a@example.test', role: 'admin' });
const bot = createBot({ name: 'b', active: true });

describe('a user', () => {
  it('is created active', () => {
    expect(user).toEqual([{ type: 'user_created.v1', data: { email: 'a@example.test', role: 'admin' } }]);
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
    expect(updateUser(stateAfter(user), { role: 'admin', active: false })).toEqual([
      { type: 'user_updated.v1', data: { active: false } },
    ]);
  });

  it('is an active admin while it is active and has the role admin', () => {
    expect(isActiveAdmin(stateAfter(user))).toBe(true);
    expect(isActiveAdmin(stateAfter(user, (state) => updateUser(state, { active: false })))).toBe(false);
    expect(isActiveAdmin(stateAfter(user, (state) => updateUser(state, { role: 'member' })))).toBe(false);
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
    const gone = [...user, ...remove(stateAfter(user))];
    const decisions: PrincipalDecision[] = [
      remove,
      (state) => updateUser(state, { active: true }),
      (state) => updateBot(state, { active: true }),
    ];
    for (const decide of decisions) {
      for (const history of [gone, []]) expect(given(evolve, ...history).when(decide)).toContain('Resource not found');
    }
  });
});

describe('a bot', () => {
  it('has the role member until it is changed, and again when it is deleted', () => {
    const toAuditor: PrincipalDecision = (state) => changeBotRole(state, 'auditor');
    expect(stateAfter(bot)).toMatchObject({ kind: 'bot', name: 'b', role: 'member' });
    expect(stateAfter(bot, toAuditor)).toMatchObject({ name: 'b', role: 'auditor', active: true });
    expect(stateAfter(bot, toAuditor, remove)).toMatchObject({ role: 'member', deleted: true });
    expect(toAuditor(stateAfter(bot, toAuditor))).toEqual([]);
  });

  it('records only the changed fields of an update', () => {
    expect(updateBot(stateAfter(bot), { name: 'c', active: true })).toEqual([
      { type: 'bot_user_updated.v1', data: { name: 'c' } },
    ]);
    expect(remove(stateAfter(bot))).toEqual([{ type: 'bot_user_deleted.v1', data: {} }]);
  });
});

it('law: a repeated command records no event', () => {
  const role = fc.constantFrom<Role>('admin', 'member', 'auditor');
  const changes = fc.record({ role, active: fc.boolean() }, { requiredKeys: [] });
  const decision = fc.oneof(
    role.map((one): PrincipalDecision => {
      const created = createUser({ email: 'a@example.test', role: one });
      // The runner creates under new ids only.
      return (state) => (state === undefined ? created : []);
    }),
    changes.map(
      (fields): PrincipalDecision =>
        (state) =>
          updateUser(state, fields),
    ),
    role.map(
      (one): PrincipalDecision =>
        (state) =>
          changeBotRole(state, one),
    ),
    fc.constant<PrincipalDecision>(remove),
  );
  expectRepetitionsToRecordNothing(evolve, decision);
});
