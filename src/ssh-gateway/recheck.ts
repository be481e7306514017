import type { Pool } from 'pg';
import { queryNamed } from '../database/query.js';
import type { KnownCredential } from './question.js';
import type { ChangedCredential } from './ssh-gateway.resource.js';

/** What the database says of a credential that a gateway asks about. */
interface StateRow {
  readonly credential_id: string;
  readonly known_version: number;
  readonly version: number | null;
  readonly fingerprint: string | null;
  /** Its key belongs to its account, which is that of the key's oldest credential. */
  readonly counts: boolean;
  readonly is_owner_active: boolean;
}

/**
 * $1 and $2: ids and the versions known of them; $3: whether to answer those that are as they were, too. The denied keys are
 * not sent: they may be many, and once the plan is kept PostgreSQL would go through all of them for each credential.
 */
const STATES = {
  name: 'credential_states',
  text: `select known.id as credential_id, known.version as known_version, c.version, c.fingerprint, state.counts,
      state.is_owner_active
    from unnest($1::text[], $2::int[]) with ordinality as known(id, version, place)
    left join ssh_credentials c on c.id = known.id
    left join principals p on p.account_id = c.account_id and p.id = c.owner_id
    cross join lateral (select
      c.id is not null and c.account_id = (
        select o.account_id from ssh_credentials o where o.fingerprint = c.fingerprint order by o.id limit 1
      ) as counts,
      coalesce(p.active and not p.deleted, true) as is_owner_active
    ) state
    where $3 or not state.counts or not state.is_owner_active or c.version <> known.version
    order by known.place`,
};

/** Which of these credentials no longer are what the gateway knows, read anew, in one query however many there are. */
export async function changedSince(
  pool: Pool,
  known: readonly KnownCredential[],
  deniedFingerprints: ReadonlySet<string>,
): Promise<ChangedCredential[]> {
  const ids = known.map(({ credentialId }) => credentialId);
  const versions = known.map(({ version }) => version);
  const values = [ids, versions, deniedFingerprints.size > 0];
  const { rows } = await queryNamed<StateRow>(pool, STATES, values);
  return rows.flatMap((row) => changeOf(row, deniedFingerprints) ?? []);
}

function changeOf(row: StateRow, deniedFingerprints: ReadonlySet<string>): ChangedCredential | undefined {
  const { credential_id, version, fingerprint } = row;
  if (!row.counts || fingerprint === null || deniedFingerprints.has(fingerprint)) {
    return { credential_id, reason: 'gone', version: null };
  }
  if (!row.is_owner_active) return { credential_id, reason: 'owner_inactive', version };
  return version === row.known_version ? undefined : { credential_id, reason: 'changed', version };
}
