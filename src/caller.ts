/** Auditors read everything of the account, and change nothing. */
export type Role = 'admin' | 'member' | 'auditor';

/** The authenticated caller. Every query and command is scoped by `accountId`. */
export interface Caller {
  readonly accountId: string;
  readonly principalId: string;
  readonly kind: 'user' | 'bot';
  readonly role: Role;
  /** The API key that was sent; absent if the caller sent a token of the OpenID Connect issuer. */
  readonly apiKeyId?: string;
  /** An id of that token. It does not authenticate, so it may be logged. */
  readonly tokenId?: string;
  /** The account's last change of rights that this authentication has seen. Absent for a GET by API key. */
  readonly rightsPosition?: number;
}

export const isAdmin = (caller: Pick<Caller, 'role'>): boolean => caller.role === 'admin';
