import type { Pool } from 'pg';
import { coalesced } from '../database/coalesce.js';
import { queryNamed } from '../database/query.js';
import { SshCredentials } from '../ssh-credentials/ssh-credentials.read-model.js';
import { CompiledAcls } from './compiled-acls.js';
import type { CompiledGrant, Grant } from './decision.js';

/** Of a key with more credentials than this on its account, the oldest count: else one account could slow everyone's answers. */
export const MAX_GRANTS_OF_A_KEY = 100;

/** An ACL that takes no more than this in the table, compressed, comes with its row; a larger one is fetched when it is not kept. */
const SMALL_ACL_BYTES = 1024;

interface GrantRow {
  readonly fingerprint: string;
  readonly account_id: string;
  readonly id: string;
  readonly version: number;
  readonly owner_id: string;
  readonly owner_active: boolean;
  readonly small_acl: string[] | null;
}

/** pg_column_size looks at what is stored and does not unpack it, which for a thousand rules is most of the cost. */
const GRANTS_BY_FINGERPRINTS = {
  name: 'grants_by_fingerprints',
  text: `select c.fingerprint, c.account_id, c.id, c.version, c.owner_id,
      coalesce(p.active and not p.deleted, true) as owner_active,
      case when pg_column_size(c.acl) <= ${SMALL_ACL_BYTES} then c.acl end as small_acl
    from unnest($1::text[]) as wanted(fingerprint)
    cross join lateral (
      select t.fingerprint, t.account_id, t.id, t.version, t.owner_id, t.acl from ssh_credentials t
      where t.fingerprint = wanted.fingerprint order by t.id limit ${MAX_GRANTS_OF_A_KEY}
    ) c
    left join principals p on p.account_id = c.account_id and p.id = c.owner_id
    order by c.id`,
};

interface StoredGrant extends Grant {
  readonly smallAcl: readonly string[] | null;
}

/**
 * The grants of a key, read anew for each question. Where accounts have raced for a key, it belongs to the one whose
 * credential is the oldest, and what others grant does not count. Keys on the operator's deny list have no grants.
 */
export class Grants {
  private readonly credentials: SshCredentials;

  constructor(
    private readonly pool: Pool,
    private readonly deniedFingerprints: ReadonlySet<string>,
    private readonly acls = new CompiledAcls(),
  ) {
    this.credentials = new SshCredentials(pool);
  }

  /** Oldest first; empty for an unknown key. */
  async ofKey(fingerprint: string): Promise<readonly StoredGrant[]> {
    if (this.deniedFingerprints.has(fingerprint)) return [];
    const grants = (await this.byFingerprint(fingerprint)) ?? [];
    return grants.filter(({ accountId }) => accountId === grants[0]?.accountId);
  }

  /** Those whose owners are active, with what they permit. */
  async compiled(grants: readonly StoredGrant[]): Promise<readonly CompiledGrant[]> {
    const compiled: CompiledGrant[] = [];
    // One after another: a thousand rules take milliseconds to compile, and other questions must come in between.
    for (const grant of grants.filter(({ isOwnerActive }) => isOwnerActive)) {
      const withAcl = this.withKeptAcl(grant) ?? (await this.withFetchedAcl(grant));
      if (withAcl !== undefined) compiled.push(withAcl);
    }
    return compiled;
  }

  private withKeptAcl(grant: StoredGrant): CompiledGrant | undefined {
    const kept = this.acls.get(grant);
    if (kept !== undefined) return { ...grant, acl: kept };
    return grant.smallAcl === null ? undefined : { ...grant, acl: this.acls.add(grant, grant.smallAcl) };
  }

  /** Undefined when the credential was deleted just now. */
  private async withFetchedAcl(grant: StoredGrant): Promise<CompiledGrant | undefined> {
    const entity = await this.credentials.find({ accountId: grant.accountId, id: grant.credentialId });
    if (entity === undefined) return undefined;
    // It may have changed since the grant was read; rules and version belong together.
    const current = { ...grant, version: entity.version };
    return { ...current, acl: this.acls.get(current) ?? this.acls.add(current, entity.state.acl) };
  }

  private readonly byFingerprint = coalesced<string, readonly StoredGrant[]>(
    (fingerprint) => fingerprint,
    async (fingerprints) => {
      const { rows } = await queryNamed<GrantRow>(this.pool, GRANTS_BY_FINGERPRINTS, [[...new Set(fingerprints)]]);
      const grants = new Map<string, StoredGrant[]>();
      for (const row of rows) grants.set(row.fingerprint, [...(grants.get(row.fingerprint) ?? []), grantOf(row)]);
      return grants;
    },
  );
}

const grantOf = (row: GrantRow): StoredGrant => ({
  accountId: row.account_id,
  credentialId: row.id,
  ownerId: row.owner_id,
  version: row.version,
  isOwnerActive: row.owner_active,
  smallAcl: row.small_acl,
});
