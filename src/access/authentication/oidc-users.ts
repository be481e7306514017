import type { Pool } from 'pg';
import type { Role } from '../../caller.js';
import { coalesced } from '../../database/coalesce.js';
import { queryNamed } from '../../database/query.js';
import { ConstraintViolated } from '../../log/append/event-log.js';
import type { EventMetadata } from '../../log/event.js';
import type { Streams } from '../../resources/changes.js';
import { principalsReadModel, USER_EMAIL_CONSTRAINT } from '../access.read-models.js';
import { createUser } from '../accounts/principal.js';

export interface FoundUser {
  readonly id: string;
  readonly role: Role;
  readonly isActive: boolean;
}

/** The account that tokens lead into, and the user in it, if there is one. */
export interface OidcLogin {
  readonly accountId: string;
  readonly user: FoundUser | undefined;
}

interface LoginRow {
  readonly wanted: string;
  readonly account_id: string;
  readonly id: string | null;
  readonly role: Role;
  readonly active: boolean;
}

/** One `lower` for both sides: what it makes of a letter depends on the database's locale. */
const LOGINS_BY_EMAILS = {
  name: 'entrances_by_emails',
  text: `select wanted.email as wanted, a.account_id, p.id, p.role, p.active
    from (
      select account_id from accounts where $2::text is null or account_id = $2 order by created_at, account_id limit 1
    ) a
    cross join unnest($1::text[]) as wanted(email)
    left join principals p
      on p.account_id = a.account_id and p.kind = 'user' and not p.deleted and lower(p.email) = lower(wanted.email)`,
};

/** The users that tokens stand for. Nothing is cached: a deactivated user is refused on the next request. */
export class OidcUsers {
  constructor(
    private readonly pool: Pool,
    private readonly streams: Streams,
    /** Undefined: the oldest account. */
    private readonly accountId: string | undefined,
  ) {}

  private readonly byEmail = coalesced<string, OidcLogin>(
    (email) => email,
    async (emails) => {
      const wanted = [...new Set(emails)];
      const { rows } = await queryNamed<LoginRow>(this.pool, LOGINS_BY_EMAILS, [wanted, this.accountId ?? null]);
      return new Map(rows.map((row) => [row.wanted, toLogin(row)]));
    },
  );

  /** Whatever the case of the letters: people write their own address in more than one way. */
  async find(email: string): Promise<OidcLogin> {
    const entrance = await this.byEmail(email);
    if (entrance === undefined)
      throw new Error(`OIDC_ACCOUNT '${this.accountId}' is not an account of this deployment`);
    return entrance;
  }

  /**
   * Creates the user, once however many first requests come at the same moment. As a member: were it an admin, it would
   * stay one here, with its API keys, after the issuer took that from it.
   */
  async create(accountId: string, email: string, metadata: EventMetadata): Promise<OidcLogin> {
    const occurredAt = this.streams.ids.now();
    const change = {
      model: principalsReadModel,
      accountId,
      streamId: this.streams.ids.next('usr', occurredAt),
      load: () => Promise.resolve(undefined),
      decide: () => createUser({ email, role: 'member' })(undefined),
      metadata,
      occurredAt,
    };
    await this.streams.change(change).catch(ignoreTakenEmail);
    return this.find(email);
  }
}

/** Another first request was faster, and its user is the one. */
function ignoreTakenEmail(error: unknown): void {
  if (!(error instanceof ConstraintViolated && error.constraint === USER_EMAIL_CONSTRAINT)) throw error;
}

const toLogin = ({ account_id: accountId, id, role, active }: LoginRow): OidcLogin => ({
  accountId,
  user: id === null ? undefined : { id, role, isActive: active },
});
