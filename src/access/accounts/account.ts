import { Problem } from '../../problem.js';

/** Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version. */
export type AccountEvent =
  | {
      readonly type: 'account_created.v1';
      readonly data: { readonly name: string; readonly admins: readonly string[] };
    }
  | { readonly type: 'account_admins_changed.v1'; readonly data: { readonly admins: readonly string[] } };

/**
 * An account, and who its active admins are. They stand here, in one stream, because "there is always one" is a rule about
 * all of them: two admins who demote each other at the same moment change the same stream, and one of them is refused.
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

type Decision = (state: Account | undefined) => readonly AccountEvent[];

export const create =
  (args: Account): Decision =>
  (state) =>
    state === undefined ? [{ type: 'account_created.v1', data: { name: args.name, admins: args.admins } }] : [];

/** Says whether `id` is an active admin from now on. */
export const setAdmin =
  (args: { readonly id: string; readonly isAdmin: boolean }): Decision =>
  (state) => {
    const admins = state?.admins ?? [];
    if (admins.includes(args.id) === args.isAdmin) return [];
    const changed = args.isAdmin ? [...admins, args.id] : admins.filter((id) => id !== args.id);
    if (changed.length === 0) {
      throw new Problem('conflict', 'This is the last active admin of the account; make another one first.');
    }
    return [{ type: 'account_admins_changed.v1', data: { admins: changed } }];
  };
