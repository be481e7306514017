import type { Pool } from 'pg';
import { coalesced, WANTED } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import type { Grant } from './bind-decisions/decision.js';
import type { StoredAcl } from './compiled-acls.js';

/** Of a key with more credentials of active owners on its account, the oldest count: else one account could slow everyone's answers. */
export const MAX_GRANTS_OF_A_KEY = 100;
/** So many of a key's credentials are looked at for that, from the oldest on, whoever owns them. */
const MAX_CREDENTIALS_READ = 1000;

/**
 * An ACL of no more than this comes with its row; a larger one is fetched when it is not kept. Both are asked: bytes are those
 * in the table, compressed, in which a thousand equal rules are few; they are known without unpacking.
 */
const SMALL_ACL_BYTES = 1024;
const SMALL_ACL_RULES = 32;
const SMALL_ACL = `case when pg_column_size(t.acl) <= ${SMALL_ACL_BYTES} and cardinality(t.acl) <= ${SMALL_ACL_RULES}
  then t.acl end`;

interface GrantRow {
  readonly fingerprint: string;
  readonly account_id: string;
  readonly id: string;
  readonly version: number;
  readonly row_version: string;
  readonly owner_id: string;
  readonly owner_active: boolean;
  readonly small_acl: string[] | null;
}

/**
 * The oldest credential of each key, which says whose the key is, and those of active owners on the same account. The owner
 * is looked up row by row, so that no plan reads all principals.
 */
const grantsStatement = (name: string, smallAcl: string) => ({
  name,
  text: `select c.fingerprint, c.account_id, c.id, c.version, c.row_version, c.owner_id, c.owner_active, c.small_acl
    from unnest($1::text[]) as wanted(fingerprint)
    cross join lateral (
      select o.account_id, o.id from ssh_credentials o where o.fingerprint = wanted.fingerprint order by o.id limit 1
    ) oldest
    cross join lateral (
      select t.*, ${smallAcl} as small_acl from (
        select k.fingerprint, k.account_id, k.id, k.version, k.xmin::text as row_version, k.owner_id, k.acl, coalesce(
            (select p.active and not p.deleted from principals p where p.account_id = k.account_id and p.id = k.owner_id),
            true
          ) as owner_active
        from ssh_credentials k where k.fingerprint = wanted.fingerprint and k.account_id = oldest.account_id
        order by k.id limit ${MAX_CREDENTIALS_READ}
      ) t
      where t.owner_active or t.id = oldest.id order by t.id limit ${MAX_GRANTS_OF_A_KEY + 1}
    ) c
    order by c.id`,
});

const GRANTS_BY_FINGERPRINTS = grantsStatement('grants_by_fingerprints', SMALL_ACL);
const OWNERS_BY_FINGERPRINTS = grantsStatement('grant_owners_by_fingerprints', 'null::text[]');

/** As JSON, which is read in a tenth of the time that an array takes. */
const ACLS_BY_IDS = {
  name: 'acls_by_ids',
  text: `select t.account_id, t.id, t.version, t.xmin::text as row_version, to_json(t.acl) as acl from ssh_credentials t ${WANTED}`,
};

const KEY_BY_FINGERPRINT = {
  name: 'key_by_fingerprint',
  text: 'select key_type as "keyType", key_blob as "keyBlob" from ssh_credentials where fingerprint = $1 order by id limit 1',
};

export interface StoredGrant extends Grant, StoredAcl {
  readonly smallAcl: readonly string[] | null;
}

/** An ACL with the row that it was read from. */
export interface FetchedAcl extends StoredAcl {
  readonly rules: readonly string[];
}

/** What a line of authorized_keys says of the key itself. */
export interface StoredKey {
  readonly keyType: string;
  /** Base64 of the wire form. */
  readonly keyBlob: string;
}

/**
 * The grants of a key, read anew for each question. Where accounts have raced for a key, it belongs to the one whose
 * credential is the oldest, and what others grant does not count. Keys on the operator's deny list have no grants.
 */
export class Grants {
  constructor(
    private readonly pool: Pool,
    private readonly deniedFingerprints: ReadonlySet<string>,
  ) {}

  /** Oldest first; empty for an unknown key. Those of inactive owners are left out, but for the oldest of all. */
  ofKey(fingerprint: string): Promise<readonly StoredGrant[]> {
    return this.unlessDenied(fingerprint, this.byFingerprint);
  }

  /** The grants whose owners are active, without a look at any rules. */
  async withActiveOwner(fingerprint: string): Promise<readonly Grant[]> {
    return withActiveOwners(await this.unlessDenied(fingerprint, this.ownersByFingerprint));
  }

  /** Of the rows as they are now, which may be others than those asked for; of deleted ones none. */
  async aclsOf(wanted: readonly StoredAcl[]): Promise<readonly FetchedAcl[]> {
    const refs = [wanted.map(({ accountId }) => accountId), wanted.map(({ credentialId }) => credentialId)];
    const { rows } = await queryNamed<GrantRow & { readonly acl: string[] }>(this.pool, ACLS_BY_IDS, refs);
    return rows.map((row) => ({ ...storedAclOf(row), rules: row.acl }));
  }

  /** Undefined for a key that nobody has. A key never changes under its fingerprint. */
  async keyOf(fingerprint: string): Promise<StoredKey | undefined> {
    const { rows } = await queryNamed<StoredKey & object>(this.pool, KEY_BY_FINGERPRINT, [fingerprint]);
    return rows[0];
  }

  private async unlessDenied(fingerprint: string, find: typeof this.byFingerprint): Promise<readonly StoredGrant[]> {
    return this.deniedFingerprints.has(fingerprint) ? [] : ((await find(fingerprint)) ?? []);
  }

  private readonly byFingerprint = this.coalescedBy(GRANTS_BY_FINGERPRINTS);
  private readonly ownersByFingerprint = this.coalescedBy(OWNERS_BY_FINGERPRINTS);

  private coalescedBy(statement: typeof GRANTS_BY_FINGERPRINTS) {
    return coalesced<string, readonly StoredGrant[]>(
      (fingerprint) => fingerprint,
      async (fingerprints) => {
        const { rows } = await queryNamed<GrantRow>(this.pool, statement, [[...new Set(fingerprints)]]);
        const grants = new Map<string, StoredGrant[]>();
        for (const row of rows) {
          const found = grants.get(row.fingerprint);
          if (found === undefined) grants.set(row.fingerprint, [grantOf(row)]);
          else found.push(grantOf(row));
        }
        return grants;
      },
    );
  }
}

/** As many as count. */
export const withActiveOwners = <One extends Grant>(grants: readonly One[]): readonly One[] =>
  grants.filter(({ isOwnerActive }) => isOwnerActive).slice(0, MAX_GRANTS_OF_A_KEY);

const storedAclOf = (row: Pick<GrantRow, 'account_id' | 'id' | 'version' | 'row_version'>): StoredAcl => ({
  accountId: row.account_id,
  credentialId: row.id,
  version: row.version,
  rowVersion: row.row_version,
});

const grantOf = (row: GrantRow): StoredGrant => ({
  ...storedAclOf(row),
  ownerId: row.owner_id,
  isOwnerActive: row.owner_active,
  smallAcl: row.small_acl,
});
