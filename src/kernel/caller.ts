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

/** An authenticated SSH gateway. */
export interface Gateway {
  /** Its name in GATEWAY_TOKENS. Absent: its token has no name. */
  readonly name?: string;
  /** The only account that it gets answers about. Absent: it gets answers about all accounts. */
  readonly accountId?: string;
  /** Where its token stands in GATEWAY_TOKENS: the limits of one token go by it. */
  readonly tokenNumber?: number;
}

/** What belongs to any other account is unknown to this gateway. */
export const servesAccount = (gateway: Gateway, accountId: string): boolean =>
  gateway.accountId === undefined || gateway.accountId === accountId;

export const isAdmin = (caller: Pick<Caller, 'role'>): boolean => caller.role === 'admin';
