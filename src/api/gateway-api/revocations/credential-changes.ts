import type { Pool } from 'pg';
import { onPrimary, type Ref } from '../../../database/index.js';
import { changesSince, type NewChanges, type Watermark } from './watermark.js';

/** Beyond this many changes at once, gateways recheck everything. */
const MAX_CHANGES = 10_000;

/**
 * $1 and $2: snapshot and clock of the last look; null for the first look, which finds no change. An event is new if
 * the last snapshot did not see its transaction, which may have been in progress then (`xip`). No gateway knows a
 * credential that was only created, but each change can change what other credentials of its key permit: see KeyAccess.
 */
const CHANGES = onPrimary({
  name: 'credential_changes',
  text: `with moment as materialized (select pg_current_snapshot() as snapshot, clock_timestamp() as now),
    appended as materialized (
      select e.account_id, e.stream_id, e.stream_version from events e
        where e.transaction_id >= pg_snapshot_xmax($1::pg_snapshot)
          and e.transaction_id < (select pg_snapshot_xmax(snapshot) from moment)
          and left(e.stream_id, 4) in ('sshc', 'usr_', 'bot_')
      union all
      select e.account_id, e.stream_id, e.stream_version from events e
        where e.transaction_id = any(array(select pg_snapshot_xip($1::pg_snapshot)))
          and left(e.stream_id, 4) in ('sshc', 'usr_', 'bot_')
      limit ${MAX_CHANGES + 1}),
    streams as materialized (
      select account_id, stream_id, left(stream_id, 4) = 'sshc' as is_credential, max(stream_version) = 1 as is_unknown
      from appended group by account_id, stream_id),
    touched as materialized (
      select s.account_id, s.stream_id as id, s.is_unknown, coalesce(c.fingerprint, (
          select e.data::json ->> 'fingerprint' from events e
          where e.account_id = s.account_id and e.stream_id = s.stream_id and e.stream_version = 1
        )) as fingerprint
        from streams s left join ssh_credentials c on c.account_id = s.account_id and c.id = s.stream_id
        where s.is_credential
      union all
      select c.account_id, c.id, false, c.fingerprint
        from streams s join ssh_credentials c on c.account_id = s.account_id and c.owner_id = s.stream_id
        -- An owner that was only created had no credential.
        where not s.is_credential and not s.is_unknown
      union all
      select c.account_id, c.id, false, c.fingerprint from ssh_credentials c
        where c.expires_at > $2::timestamptz and c.expires_at <= (select now from moment)
      limit ${MAX_CHANGES + 1}),
    changed as (
      select account_id, id from touched where not is_unknown
      union
      select c.account_id, c.id
        from touched t join ssh_credentials c on c.fingerprint = t.fingerprint and c.id <> t.id
      limit ${MAX_CHANGES + 1})
    select snapshot::text, pg_postmaster_start_time()::text as server, now::text,
      greatest((select count(*) from appended), (select count(*) from touched), (select count(*) from changed))
        > ${MAX_CHANGES} as "isTooMany",
      (select coalesce(json_agg(json_build_object('accountId', account_id, 'id', id)), '[]') from changed) as changed
    from moment`,
});

/** Finds the credentials of all accounts whose answers to gateways may have changed since a moment. */
export class CredentialChanges {
  constructor(private readonly pool: Pool) {}

  since(last: Watermark | undefined): Promise<NewChanges<Ref>> {
    return changesSince(this.pool, CHANGES, [last?.snapshot ?? null, last?.now ?? null], last);
  }
}
