import type { Pool } from 'pg';
import { queryNamed } from '../database/query.js';
import type { KnownCredential } from './question.js';
import type { ChangedCredential } from './ssh-gateway.resource.js';

/**
 * $1 and $2: ids and the versions known of them; $3: denied keys. A credential counts as long as its key belongs to its
 * account, which is that of the key's oldest credential.
 */
const CHANGED = {
  name: 'credentials_changed_since',
  text: `select known.id as credential_id,
      case when not state.counts then null else c.version end as version,
      case when not state.counts then 'gone' when not state.is_owner_active then 'owner_inactive' else 'changed' end as reason
    from unnest($1::text[], $2::int[]) with ordinality as known(id, version, place)
    left join ssh_credentials c on c.id = known.id
    left join principals p on p.account_id = c.account_id and p.id = c.owner_id
    cross join lateral (select
      c.id is not null and not c.fingerprint = any($3::text[]) and c.account_id = (
        select o.account_id from ssh_credentials o where o.fingerprint = c.fingerprint order by o.id limit 1
      ) as counts,
      coalesce(p.active and not p.deleted, true) as is_owner_active
    ) state
    where not state.counts or not state.is_owner_active or c.version <> known.version
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
  const { rows } = await queryNamed<ChangedCredential>(pool, CHANGED, [ids, versions, [...deniedFingerprints]]);
  return rows;
}
