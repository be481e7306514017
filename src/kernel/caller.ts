/** The role of a caller. Auditors read everything of the account, and change nothing. */
export type Role = 'admin' | 'member' | 'auditor';

/** The authenticated caller. Every query and command is scoped by `accountId`. */
export interface Caller {
  readonly accountId: string;
  readonly principalId: string;
  readonly kind: 'user' | 'bot';
  readonly role: Role;
  /** The API key that was sent; absent if the caller sent a token of the OpenID Connect issuer. */
  readonly apiKeyId?: string;
  /** The id of that token. Nobody can authenticate with it, so it may be logged. */
  readonly tokenId?: string;
  /** The position of the last change of rights that this authentication has seen. Absent for a GET by API key. */
  readonly rightsPosition?: number;
}

/** An authenticated SSH gateway. */
export interface Gateway {
  /** Its name in GATEWAY_TOKENS. Absent: its token has no name. */
  readonly name?: string;
  /** The gateway gets answers about this account only. Absent: about all accounts. */
  readonly accountId?: string;
  /** Its name, or the hash of its token: the same at all instances. The limits of the token are counted by it. */
  readonly identity?: string;
}

/** Whether the gateway gets answers about an account. To the gateway, other accounts do not exist. */
export const servesAccount = (gateway: Gateway, accountId: string): boolean =>
  gateway.accountId === undefined || gateway.accountId === accountId;

export const isAdmin = (caller: Pick<Caller, 'role'>): boolean => caller.role === 'admin';
