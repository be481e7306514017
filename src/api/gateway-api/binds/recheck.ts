import type { Pool } from 'pg';
import { onPrimary, queryNamed } from '../../../database/index.js';
import type { Gateway } from '../../../kernel/caller.js';
import { expiresInMs } from '../decisions/credential-grants.js';
import type { ChangedCredential } from './binds.resource.js';
import type { KnownCredential } from './gateway-requests.js';

/** The current state of a credential that a gateway knows. */
interface CurrentState {
  readonly credential_id: string;
  readonly known_version: number;
  readonly version: number | null;
  readonly fingerprint: string | null;
  /**
   * Whether the credential exists and its account owns its key. The account of a key's oldest credential owns the key.
   */
  readonly grants_access: boolean;
  readonly is_owner_active: boolean;
  readonly is_expired: boolean;
  /** Null: it never expires. */
  readonly expires_in_ms: number | null;
}

/**
 * $1 and $2: ids and their known versions; $3: whether to return unchanged credentials too, since the caller checks the
 * deny list; $4: the only account that the gateway serves, or null. The deny list is no parameter, because with a cached
 * plan PostgreSQL would scan it for each row.
 */
const CURRENT_STATES = onPrimary({
  name: 'credential_states',
  text: `select known.id as credential_id, known.version as known_version, c.version, c.fingerprint, state.grants_access,
      state.is_owner_active, state.is_expired, ${expiresInMs('c')} as expires_in_ms
    from unnest($1::text[], $2::int[]) with ordinality as known(id, version, ordinal)
    left join lateral (select * from ssh_credentials c where c.id = known.id limit 1) c on true
    left join lateral (select * from principals p where p.account_id = c.account_id and p.id = c.owner_id limit 1) p on true
    cross join lateral (select
      c.id is not null and c.account_id = (
        select o.account_id from ssh_credentials o where o.fingerprint = c.fingerprint order by o.id limit 1
      ) and c.account_id = coalesce($4, c.account_id) as grants_access,
      coalesce(p.active and not p.deleted, true) as is_owner_active,
      coalesce(c.expires_at <= statement_timestamp(), false) as is_expired
    ) state
    where $3 or not state.grants_access or not state.is_owner_active or state.is_expired or c.version <> known.version
    order by known.ordinal`,
});

/** The credentials that changed since the gateway learned of them. */
export async function changedSince(
  pool: Pool,
  { accountId }: Gateway,
  known: readonly KnownCredential[],
  deniedFingerprints: ReadonlySet<string>,
): Promise<ChangedCredential[]> {
  const ids = known.map(({ credentialId }) => credentialId);
  const versions = known.map(({ version }) => version);
  const values = [ids, versions, deniedFingerprints.size > 0, accountId ?? null];
  const { rows } = await queryNamed<CurrentState>(pool, CURRENT_STATES, values);
  return rows.flatMap((row) => changeOf(row, deniedFingerprints) ?? []);
}

function changeOf(row: CurrentState, deniedFingerprints: ReadonlySet<string>): ChangedCredential | undefined {
  const { credential_id, version, fingerprint, expires_in_ms } = row;
  if (!row.grants_access || fingerprint === null || deniedFingerprints.has(fingerprint)) {
    return { credential_id, reason: 'gone', version: null };
  }
  if (!row.is_owner_active) return { credential_id, reason: 'owner_inactive', version };
  if (row.is_expired) return { credential_id, reason: 'expired', version };
  if (version === row.known_version) return undefined;
  return { credential_id, reason: 'changed', version, ...(expires_in_ms !== null && { expires_in_ms }) };
}
