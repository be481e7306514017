import { Problem } from '../../../kernel/problem.js';

/** Storage format: the log holds these types. Add fields as optional; for any other change add a new version. */
export type AccountEvent =
  | {
      readonly type: 'account_created.v1';
      readonly data: { readonly name: string; readonly admins: readonly string[] };
    }
  | { readonly type: 'account_admins_changed.v1'; readonly data: { readonly admins: readonly string[] } };

/**
 * An account and its active admins. One stream holds all admins, because an account must always have at least one: if
 * two admins demote each other at the same time, both change this stream, and one of them is refused.
 */
export interface Account {
  readonly name: string;
  /** Ids of its active admins, never empty. */
  readonly admins: readonly string[];
}

export function evolve(state: Account | undefined, event: AccountEvent): Account {
  switch (event.type) {
    case 'account_created.v1':
      return event.data;
    case 'account_admins_changed.v1':
      return { name: state?.name ?? '', admins: event.data.admins };
  }
}

export const create = ({ name, admins }: Account): readonly AccountEvent[] => [
  { type: 'account_created.v1', data: { name, admins } },
];

/** Adds `id` to the active admins, or removes it. */
export function setAdmin(state: Account | undefined, id: string, isAdmin: boolean): readonly AccountEvent[] {
  const admins = state?.admins ?? [];
  if (admins.includes(id) === isAdmin) return [];
  const changed = isAdmin ? [...admins, id] : admins.filter((admin) => admin !== id);
  if (changed.length === 0) {
    throw new Problem(
      'conflict',
      'This is the last active admin of the account; make another user or bot an admin first.',
    );
  }
  return [{ type: 'account_admins_changed.v1', data: { admins: changed } }];
}
