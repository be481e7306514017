export type Role = 'admin' | 'member';

/** Who is calling, as authentication found it. Every query and command is scoped by `accountId`. */
export interface Caller {
  readonly accountId: string;
  readonly principalId: string;
  readonly kind: 'user' | 'bot';
  readonly role: Role;
  /** The API key that was sent; absent when it was a token of the OpenID Connect issuer. */
  readonly apiKeyId?: string;
  /** Names that token, without being of use to anyone who reads it. */
  readonly tokenId?: string;
}

export const isAdmin = (caller: Pick<Caller, 'role'>): boolean => caller.role === 'admin';
