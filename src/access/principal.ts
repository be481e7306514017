import type { Role } from '../caller.js';

/** Storage format: these types are what the log holds. Add fields as optional; for any other change add a new version. */
export type PrincipalEvent =
  | { readonly type: 'user_created.v1'; readonly data: { readonly email: string; readonly role: Role } }
  | { readonly type: 'bot_user_created.v1'; readonly data: { readonly name: string } };

/** Who may call: a user (a person) or a bot (a program). Bots are never admins. */
export interface Principal {
  readonly kind: 'user' | 'bot';
  /** Bots only; '' for users. */
  readonly name: string;
  /** Users only; '' for bots. */
  readonly email: string;
  readonly role: Role;
  readonly active: boolean;
}

export function evolve(_state: Principal | undefined, event: PrincipalEvent): Principal {
  switch (event.type) {
    case 'user_created.v1':
      return { kind: 'user', name: '', email: event.data.email, role: event.data.role, active: true };
    case 'bot_user_created.v1':
      return { kind: 'bot', name: event.data.name, email: '', role: 'member', active: true };
  }
}

export const createUser =
  (args: { email: string; role: Role }) =>
  (state: Principal | undefined): readonly PrincipalEvent[] =>
    state === undefined ? [{ type: 'user_created.v1', data: { email: args.email, role: args.role } }] : [];
