import type { MaintenanceDatabase } from '../../database/index.js';

interface Effects {
  /** Public keys of the imported account that are also live on another account. */
  readonly shared: number;
  /** Shared public keys of which the imported account has the oldest credential. */
  readonly moved: number;
  /** Hostports of the imported account that edges of another account list too, and that no such account has reserved. */
  readonly hostports: number;
  readonly is_oldest: boolean;
}

/** Warns of effects on other accounts: an imported account keeps its age, and the service prefers older accounts. */
export async function warnOfImported({ pool }: Pick<MaintenanceDatabase, 'pool'>, account: string): Promise<void> {
  const { rows } = await pool.query<Effects>(EFFECTS, [account]);
  const [row] = rows;
  if (row === undefined) return;
  const warn = (text: string): void => console.error(`warning: ${text}`);
  if (row.is_oldest) {
    warn(`account ${account} is now the oldest account: OIDC users sign in to it when OIDC_ACCOUNT is unset`);
  }
  if (row.shared > 0) {
    warn(`${row.shared} public keys of account ${account} are also live on another account; the API refuses such keys`);
  }
  if (row.hostports > 0) {
    warn(
      `edges of another account list ${row.hostports} hostports of account ${account} too: the edge that listed one first serves it`,
    );
  }
  if (row.moved > 0) {
    warn(
      `${row.moved} of these keys now belong to account ${account}: a shared public key belongs to the account with the older credential`,
    );
  }
}

/**
 * The API refuses a key of another account, and its hostport unless it is reserved, so only an import can make accounts
 * share one. Ids grow with time. It looks up each key once, since all credentials may have one.
 */
const EFFECTS = `
  with shared as (
    select (select account_id from ssh_credentials c where c.fingerprint = mine.fingerprint order by c.id limit 1) = $1 as moved
    from (select distinct fingerprint from ssh_credentials where account_id = $1) mine where exists (
      select from ssh_credentials other where other.fingerprint = mine.fingerprint and other.account_id <> $1))
  select (select count(*)::int from shared) as shared, (select count(*)::int from shared where moved) as moved,
    (select count(*)::int from claims mine where account_id = $1 and value >= 'hostport:' and value < 'hostport;'
      and exists (select from claims other where other.value = mine.value and other.account_id <> $1)
      and not exists (select from claims one where one.value = mine.value and has_reserved(one.account_id, one.value))) as hostports,
    exists (select from accounts where account_id <> $1)
      and $1 = (select account_id from accounts order by created_at, account_id limit 1) as is_oldest`;
