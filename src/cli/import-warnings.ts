import type { MaintenanceDatabase } from '../database/dedicated-connections.js';

interface Moved {
  /** Public keys of the account that are live on another one too. */
  readonly shared: number;
  /** Those of them of which the account has the oldest credential. */
  readonly moved: number;
  readonly is_oldest: boolean;
}

/** What an account that came by import changes for the others: it brings its age along, and the service goes by age. */
export async function warnOfImported(
  { dataSource }: Pick<MaintenanceDatabase, 'dataSource'>,
  account: string,
): Promise<void> {
  const [row] = await dataSource.query<Moved[]>(MOVED, [account]);
  if (row === undefined) return;
  const warn = (text: string): void => console.error(`warning: ${text}`);
  if (row.is_oldest) {
    warn(
      `account ${account} is older than the oldest before: it becomes the one OIDC users sign in to when OIDC_ACCOUNT is unset`,
    );
  }
  if (row.shared > 0) {
    warn(`${row.shared} of its public keys are live on another account here too; the service itself would refuse that`);
  }
  if (row.moved > 0) {
    warn(
      `${row.moved} of them move to account ${account}: a shared public key goes to the account with the older credential`,
    );
  }
}

/** The service refuses a key that is live on another account, so it can have come here only by import. Ids grow with time. */
const MOVED = `
  with shared as (
    select fingerprint, bool_or(not exists (
      select from ssh_credentials other where other.fingerprint = mine.fingerprint and other.account_id <> mine.account_id
        and other.id < mine.id)) as moved
    from ssh_credentials mine where account_id = $1 and exists (
      select from ssh_credentials other where other.fingerprint = mine.fingerprint and other.account_id <> mine.account_id)
    group by fingerprint)
  select (select count(*)::int from shared) as shared, (select count(*)::int from shared where moved) as moved,
    exists (select from accounts where account_id <> $1)
      and $1 = (select account_id from accounts order by created_at, account_id limit 1) as is_oldest`;
