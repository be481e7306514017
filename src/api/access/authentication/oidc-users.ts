import type { Pool } from 'pg';
import { coalesced, onPrimary, queryNamed } from '../../../database/index.js';
import { ConstraintViolated, type EventMetadata } from '../../../event-log/index.js';
import type { Role } from '../../../kernel/caller.js';
import type { Changes } from '../../resources/changes.js';
import { createUser } from '../accounts/principal.js';
import { USER_EMAIL_CONSTRAINT } from '../accounts/principals.read-model.js';
import { USERS } from '../accounts/users.resource.js';

interface FoundUser {
  readonly id: string;
  readonly role: Role;
  readonly isActive: boolean;
}

/** The account that a token signs in to, and its user; undefined: the account has no user with the token's email. */
export interface OidcLogin {
  readonly accountId: string;
  /** The account's last change of rights, of the same snapshot as the user. */
  readonly rightsPosition: number;
  readonly user: FoundUser | undefined;
}

type LoginRow = Omit<OidcLogin, 'user'> &
  Omit<FoundUser, 'id'> & { readonly wanted: string; readonly id: string | null };

/** Addresses are ASCII, and lowered as such, whatever the collation of the database is. */
const LOGINS_BY_EMAILS = onPrimary({
  name: 'logins_by_emails',
  text: `select wanted.email as wanted, a.account_id as "accountId", p.id, p.role, p.active as "isActive",
      (select h.rights_position::float8 from log_heads h where h.account_id = a.account_id) as "rightsPosition"
    from (
      select account_id from accounts
        where account_id = coalesce($2::text, (select account_id from accounts order by created_at, account_id limit 1))
    ) a
    cross join unnest($1::text[]) as wanted(email)
    left join principals p
      on p.account_id = a.account_id and p.kind = 'user' and not p.deleted and lower(p.email) = lower(wanted.email collate "C")`,
});

/** Finds and creates the users of tokens. It has no cache: a deactivated user is refused on the next request. */
export class OidcUsers {
  constructor(
    private readonly pool: Pool,
    private readonly changes: Changes,
    /** Undefined: the oldest account. */
    private readonly accountId: string | undefined,
  ) {}

  private readonly byEmail = coalesced<OidcLogin>(async (wanted) => {
    const { rows } = await queryNamed<LoginRow>(this.pool, LOGINS_BY_EMAILS, [wanted, this.accountId ?? null]);
    return new Map(rows.map((row) => [row.wanted, toLogin(row)]));
  });

  /** Ignores the case of letters: people spell their own address in more than one way. */
  async find(email: string): Promise<OidcLogin> {
    const login = await this.byEmail(email);
    if (login === undefined) throw new Error(`OIDC_ACCOUNT '${this.accountId}' is not an account of this deployment`);
    return login;
  }

  /**
   * Creates the user, once even if several first requests arrive together. The user is a member: a stored admin would
   * keep that role, and its API keys, after the issuer has withdrawn it.
   */
  async create(accountId: string, email: string, metadata: EventMetadata): Promise<OidcLogin> {
    const decide = () => createUser({ email, role: 'member' });
    await this.changes.create(USERS, { accountId, metadata }, decide).catch(ignoreTakenEmail);
    return this.find(email);
  }
}

/** A concurrent first request has created the user. */
function ignoreTakenEmail(error: unknown): void {
  if (!(error instanceof ConstraintViolated && error.constraint === USER_EMAIL_CONSTRAINT)) throw error;
}

const toLogin = ({ accountId, rightsPosition, id, role, isActive }: LoginRow): OidcLogin => ({
  accountId,
  rightsPosition,
  user: id === null ? undefined : { id, role, isActive },
});
