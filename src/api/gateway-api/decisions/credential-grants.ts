import type { Pool } from 'pg';
import { coalesced, onPrimary, queryNamed, type Ref } from '../../../database/index.js';
import { type Gateway, servesAccount } from '../../../kernel/caller.js';
import type { CredentialGrant } from './bind-decision.js';

/** Only the oldest live grants of a key are used, so that one account cannot delay answers to others. */
const MAX_GRANTS_PER_KEY = 100;
/** The grants are sought among this many of the key's oldest credentials, live or not. */
const MAX_CREDENTIALS_READ = 1000;

/**
 * A small ACL is read with its row; a larger one is fetched if it is not cached. The bytes are the bytes of the
 * compressed column: a thousand equal rules compress well, so rules are counted too.
 */
const MAX_SMALL_ACL_BYTES = 1024;
const MAX_SMALL_ACL_RULES = 32;
const SMALL_ACL = `case when pg_column_size(t.acl) <= ${MAX_SMALL_ACL_BYTES} and cardinality(t.acl) <= ${MAX_SMALL_ACL_RULES}
  then t.acl end`;
/** Of live credentials, as far as those before them have at most $2 rules. */
const COUNTING_ACL = `case when sum(cardinality(t.acl)) filter (where t.owner_active and not t.expired)
    over (order by t.id rows between unbounded preceding and 1 preceding) > $2::int then null else t.acl end`;

/** In how many milliseconds a credential expires, rounded up, so that it is never too early; null: never. */
export const expiresInMs = (credential: string): string =>
  `ceil(extract(epoch from ${credential}.expires_at - statement_timestamp()) * 1000)::float8`;

/**
 * The grants of each key, and the position of its account's log. One statement reads both, so that the position belongs
 * to these very rows. An unknown key has one row, without a credential.
 */
const grantsStatement = (name: string, acl: string) =>
  onPrimary({
    name,
    text: `select wanted.fingerprint, oldest.log_position as "logPosition", extract(epoch from statement_timestamp())::float8 as "readAt",
      c.account_id as "accountId", c.id as "credentialId", c.version, c.owner_id as "ownerId",
      c.owner_active as "isOwnerActive", c.expired as "isExpired", c.acl_digest as "aclDigest", c.rules,
      array_to_string(c.source_cidrs, ',') as sources, to_char(c.expires_at at time zone 'UTC', 'YYYYMMDDHH24MISS') as "expiresAt",
      ${expiresInMs('c')} as "expiresInMs"
    from unnest($1::text[]) as wanted(fingerprint)
    -- The account of the oldest credential owns the key.
    left join lateral (
      select o.account_id, o.id,
        (select h.size::float8 from log_heads h where h.account_id = o.account_id) as log_position
      from ssh_credentials o where o.fingerprint = wanted.fingerprint order by o.id limit 1
    ) oldest on true
    left join lateral (
      select t.*, ${acl} as rules from (
        select k.*, bool_or(k.owner_active) over (order by k.id rows between unbounded preceding and 1 preceding)
          as has_active_before
        from (
          select k.fingerprint, k.account_id, k.id, k.version, encode(k.acl_digest, 'hex') as acl_digest, k.owner_id, k.acl,
            k.source_cidrs, k.expires_at,
            -- The database's clock alone says what has expired.
            coalesce(k.expires_at <= statement_timestamp(), false) as expired,
            -- The owner is looked up row by row, so that no plan reads all principals.
            coalesce(
              (select p.active and not p.deleted from principals p where p.account_id = k.account_id and p.id = k.owner_id),
              true
            ) as owner_active
          from ssh_credentials k
          -- The test for true keeps a bitmap scan from reading the whole account in the index.
          where k.fingerprint = wanted.fingerprint and (k.account_id = oldest.account_id) is true
          order by k.id limit ${MAX_CREDENTIALS_READ}
        ) k
      ) t
      -- The live ones. The first credential of an active owner is always returned, and so is the oldest of all.
      where (t.owner_active and (not t.expired or t.has_active_before is not true)) or t.id = oldest.id
      order by t.id limit ${MAX_GRANTS_PER_KEY + 2}
    ) c on true
    order by c.id`,
  });

const GRANTS_BY_FINGERPRINTS = grantsStatement('grants_by_fingerprints', SMALL_ACL);
const GRANTS_WITH_ACLS = grantsStatement('grants_with_acls', COUNTING_ACL);
const OWNERS_BY_FINGERPRINTS = grantsStatement('grant_owners_by_fingerprints', 'null::text[]');

/** A credential, live or not, without the limits of its key. */
const GRANT_BY_ID = {
  name: 'grant_by_id',
  text: `select k.account_id as "accountId", k.id as "credentialId", k.version, k.owner_id as "ownerId",
      coalesce(p.active and not p.deleted, true) as "isOwnerActive",
      coalesce(k.expires_at <= statement_timestamp(), false) as "isExpired"
    from ssh_credentials k left join lateral (
      select p.active, p.deleted from principals p where p.account_id = k.account_id and p.id = k.owner_id limit 1) p on true
    where k.account_id = $1 and k.id = $2`,
};

const KEY_BY_FINGERPRINT = {
  name: 'key_by_fingerprint',
  text: 'select key_type as "keyType", key_blob as "keyBlob" from ssh_credentials where fingerprint = $1 order by id limit 1',
};

/** A grant as it is stored. */
export interface StoredCredentialGrant extends CredentialGrant {
  readonly fingerprint: string;
  /** SHA-256 of the rules. */
  readonly aclDigest: string;
  /** The ACL; null if it was not read. */
  readonly rules: readonly string[] | null;
  /** The networks that tunnels may come from, canonical and joined by commas; null: from anywhere. */
  readonly sources: string | null;
  /** `YYYYMMDDHHMMSS` in UTC, rounded down; null: never. */
  readonly expiresAt: string | null;
  readonly expiresInMs: number | null;
}

/** The grants of a key, and when they were read. */
export interface KeyRead {
  /** Oldest first; empty for an unknown key. */
  readonly grants: readonly StoredCredentialGrant[];
  /** Size of the account's log in the snapshot of the read; null for an unknown key, which has no account. */
  readonly logPosition: number | null;
  /** The database's time, in seconds since 1970 to the microsecond; null if the database was not asked. */
  readonly readAt: number | null;
}

/** A row of the statement. The other columns are null for an unknown key. */
type GrantRow = StoredCredentialGrant & {
  readonly credentialId: string | null;
  readonly logPosition: number;
  readonly readAt: number;
};

/** The key itself, for a line of authorized_keys. */
interface StoredKey {
  readonly keyType: string;
  /** Base64 of the wire form. */
  readonly keyBlob: string;
}

/**
 * The grants of a key, read for each request. If accounts raced for a key, the account of the oldest credential owns
 * the key and only its credentials are grants. A key has no grants if it is on the operator's deny list, or if the
 * gateway does not serve its account.
 */
export class CredentialGrants {
  constructor(
    private readonly pool: Pool,
    private readonly deniedFingerprints: ReadonlySet<string>,
  ) {}

  /** With the ACLs that are small. One or two of the grants may not be live. */
  ofKey(gateway: Gateway, fingerprint: string): Promise<KeyRead> {
    return this.unlessDenied(gateway, fingerprint, this.byFingerprint);
  }

  /** With the ACLs of the oldest live credentials, up to the one that comes to more than `maxRules`. */
  withAclsOfKey(gateway: Gateway, fingerprint: string, maxRules: number): Promise<KeyRead> {
    return this.unlessDenied(gateway, fingerprint, async () =>
      (await this.read(GRANTS_WITH_ACLS, [fingerprint], maxRules)).get(fingerprint),
    );
  }

  /** The live grants, without their rules. */
  async liveOfKey(gateway: Gateway, fingerprint: string): Promise<readonly CredentialGrant[]> {
    return liveGrants((await this.unlessDenied(gateway, fingerprint, this.ownersByFingerprint)).grants);
  }

  /** One credential, live or not. Undefined if it is deleted. */
  async ofCredential({ accountId, id }: Ref): Promise<CredentialGrant | undefined> {
    const { rows } = await queryNamed<CredentialGrant & object>(this.pool, GRANT_BY_ID, [accountId, id]);
    return rows[0];
  }

  /** Undefined for an unknown key. A fingerprint always stands for the same key. */
  async keyOf(fingerprint: string): Promise<StoredKey | undefined> {
    const { rows } = await queryNamed<StoredKey & object>(this.pool, KEY_BY_FINGERPRINT, [fingerprint]);
    return rows[0];
  }

  private async unlessDenied(gateway: Gateway, fingerprint: string, find: typeof this.byFingerprint): Promise<KeyRead> {
    const read = this.deniedFingerprints.has(fingerprint) ? undefined : await find(fingerprint);
    return read === undefined ? NOT_READ : servedBy(gateway, read);
  }

  private readonly byFingerprint = coalesced((wanted) => this.read(GRANTS_BY_FINGERPRINTS, wanted));
  private readonly ownersByFingerprint = coalesced((wanted) => this.read(OWNERS_BY_FINGERPRINTS, wanted));

  private async read(
    statement: typeof GRANTS_BY_FINGERPRINTS,
    wanted: readonly string[],
    ...further: readonly number[]
  ) {
    const { rows } = await queryNamed<GrantRow & object>(this.pool, statement, [wanted, ...further]);
    const reads = new Map<string, KeyRead & { readonly grants: StoredCredentialGrant[] }>();
    for (const row of rows) {
      const { fingerprint, logPosition, readAt } = row;
      const read = reads.get(fingerprint) ?? { grants: [], logPosition, readAt };
      reads.set(fingerprint, read);
      if (row.credentialId !== null) read.grants.push(row);
    }
    return reads;
  }
}

const NOT_READ: KeyRead = { grants: [], logPosition: null, readAt: null };

/** All grants of a key belong to one account. */
function servedBy(gateway: Gateway, read: KeyRead): KeyRead {
  const [first] = read.grants;
  return first === undefined || servesAccount(gateway, first.accountId) ? read : { ...NOT_READ, readAt: read.readAt };
}

/** The live grants: those of active owners that have not expired, up to the maximum. */
export const liveGrants = <Grant extends CredentialGrant>(grants: readonly Grant[]): readonly Grant[] =>
  grants.filter(({ isOwnerActive, isExpired }) => isOwnerActive && !isExpired).slice(0, MAX_GRANTS_PER_KEY);
