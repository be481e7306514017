export type Role = 'admin' | 'member';

/** Who is calling, as authentication found it. Every query and command is scoped by `accountId`. */
export interface Caller {
  readonly accountId: string;
  readonly principalId: string;
  readonly kind: 'user' | 'bot';
  readonly role: Role;
  readonly apiKeyId: string;
}

export const isAdmin = (caller: Pick<Caller, 'role'>): boolean => caller.role === 'admin';
