import type { Role } from '../../../kernel/caller.js';
import { Problem } from '../../../kernel/problem.js';
import { updatedEvents } from '../../resources/changed-fields.js';

/** Storage format: the log holds these types. Add fields as optional; for any other change add a new version. */
export type PrincipalEvent =
  | { readonly type: 'user_created.v1'; readonly data: { readonly email: string; readonly role: Role } }
  | { readonly type: 'user_updated.v1'; readonly data: { readonly role?: Role; readonly active?: boolean } }
  | { readonly type: 'user_deleted.v1'; readonly data: Readonly<Record<string, never>> }
  | { readonly type: 'bot_user_created.v1'; readonly data: { readonly name: string; readonly active: boolean } }
  | { readonly type: 'bot_user_updated.v1'; readonly data: { readonly name?: string; readonly active?: boolean } }
  | { readonly type: 'bot_user_role_changed.v1'; readonly data: { readonly role?: Role } }
  | { readonly type: 'bot_user_deleted.v1'; readonly data: Readonly<Record<string, never>> };

/** Why a creation or a change may be refused, beside what its fields may be. */
export const CREATION_PROBLEMS = ['role_missing', 'conflict'] as const;
export const CHANGE_PROBLEMS = ['role_missing', 'not_found', 'conflict'] as const;

/** A caller of the API: a user (a person) or a bot (a program). */
export interface Principal {
  readonly kind: 'user' | 'bot';
  /** Bots only; '' for users. */
  readonly name: string;
  /** Users only; '' for bots. */
  readonly email: string;
  readonly role: Role;
  readonly active: boolean;
  /**
   * A deleted principal keeps its row, without name and email: by this row, the tables refuse new rows of a deleted
   * owner.
   */
  readonly deleted: boolean;
}

export function evolve(state: Principal | undefined, event: PrincipalEvent): Principal | undefined {
  switch (event.type) {
    case 'user_created.v1':
      return { kind: 'user', name: '', active: true, deleted: false, ...event.data };
    case 'bot_user_created.v1':
      return { kind: 'bot', email: '', role: 'member', deleted: false, ...event.data };
    case 'user_updated.v1':
    case 'bot_user_updated.v1':
    case 'bot_user_role_changed.v1':
      return state === undefined ? undefined : { ...state, ...event.data };
    case 'user_deleted.v1':
    case 'bot_user_deleted.v1':
      return state === undefined
        ? undefined
        : { ...state, name: '', email: '', role: 'member', active: false, deleted: true };
  }
}

type Events = readonly PrincipalEvent[];

export const createUser = ({ email, role }: { readonly email: string; readonly role: Role }): Events => [
  { type: 'user_created.v1', data: { email, role } },
];

export const createBot = ({ name, active }: { readonly name: string; readonly active: boolean }): Events => [
  { type: 'bot_user_created.v1', data: { name, active } },
];

export const updateUser = (
  state: Principal | undefined,
  changes: { readonly role?: Role; readonly active?: boolean },
): Events => updatedEvents('user_updated.v1', changes, requireLive(state));

export const updateBot = (
  state: Principal | undefined,
  changes: { readonly name?: string; readonly active?: boolean },
): Events => updatedEvents('bot_user_updated.v1', changes, requireLive(state));

export const changeBotRole = (state: Principal | undefined, role: Role): Events =>
  updatedEvents('bot_user_role_changed.v1', { role }, requireLive(state));

export function remove(state: Principal | undefined): Events {
  const { kind } = requireLive(state);
  return [{ type: kind === 'user' ? 'user_deleted.v1' : 'bot_user_deleted.v1', data: {} }];
}

/** Whether this principal counts among the account's active admins. */
export const isActiveAdmin = (principal: Principal | undefined): boolean =>
  principal?.active === true && principal.role === 'admin';

export const principalNotFound = (): Problem => new Problem('not_found', 'Resource not found');

function requireLive(state: Principal | undefined): Principal {
  if (state === undefined || state.deleted) throw principalNotFound();
  return state;
}
