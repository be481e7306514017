import type { Pool } from 'pg';
import { onPrimary, type Ref } from '../../../database/index.js';
import type { Stop } from '../sessions/session-reports.js';
import { IS_RESTART, STOPPED_BY } from '../sessions/session-statements.js';
import type { StreamEvent } from './change-streams.js';
import { BEGAN_LATER, changesSince, type NewChanges, WAS_IN_PROGRESS, type Watermark } from './watermark.js';

/** Beyond this many changes at once, gateways recheck everything. */
const MAX_CHANGES = 10_000;
const MAX_CHANGES_IN_EVENT = 1_000;

/** The events that can change who may bind or serve an address or a domain: updates change texts only. The prefixes match the index. */
export const OF_RESERVATIONS = `left(stream_id, 3) in ('ra_', 'rd_') and type not like '%\\_updated.v1'`;

/**
 * $1 and $2: snapshot and clock of the last look; null for the first look, which finds no change. No gateway knows a
 * credential that was only created, but each change can change what other credentials of its key permit: see KeyAccess.
 */
const CHANGES = onPrimary({
  name: 'credential_changes',
  text: `with moment as materialized (select pg_current_snapshot() as snapshot, clock_timestamp() as now),
    appended as materialized (
      select e.account_id, e.stream_id, e.stream_version from events e
        where ${BEGAN_LATER} and left(e.stream_id, 4) in ('sshc', 'usr_', 'bot_')
      union all
      select e.account_id, e.stream_id, e.stream_version from events e
        where ${WAS_IN_PROGRESS} and left(e.stream_id, 4) in ('sshc', 'usr_', 'bot_')
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
      limit ${MAX_CHANGES + 1}),
    stops as materialized (
      select e.account_id, e.stream_id as id, e.data, e.metadata from events e
        where ${BEGAN_LATER} and left(e.stream_id, 3) = 'ts_'
      union all
      select e.account_id, e.stream_id, e.data, e.metadata from events e
        where ${WAS_IN_PROGRESS} and left(e.stream_id, 3) = 'ts_'
      limit ${MAX_CHANGES + 1}),
    -- A change of description or metadata tells nobody anything.
    reservations as materialized (
      select e.account_id, e.stream_id from events e where ${BEGAN_LATER} and ${OF_RESERVATIONS}
      union all
      select e.account_id, e.stream_id from events e where ${WAS_IN_PROGRESS} and ${OF_RESERVATIONS}
      limit ${MAX_CHANGES + 1}),
    reserved as materialized (
      select distinct r.account_id, r.stream_id as id, (
          select coalesce(e.data::json ->> 'addr', e.data::json ->> 'domain') from events e
          where e.account_id = r.account_id and e.stream_id = r.stream_id and e.stream_version = 1
        ) as name from reservations r)
    select snapshot::text, pg_postmaster_start_time()::text as server, now::text,
      greatest((select count(*) from appended), (select count(*) from touched), (select count(*) from changed),
        (select count(*) from stops), (select count(*) from reservations)) > ${MAX_CHANGES} as "isTooMany",
      (select coalesce(json_agg(one), '[]') from (
        select json_build_object('accountId', account_id, 'id', id) as one from changed
        union all
        select json_build_object('accountId', account_id, 'id', id, 'stop', json_build_object('account_id', account_id,
          'session_id', id, 'restart', ${IS_RESTART}, 'by', ${STOPPED_BY})) from stops e
        union all
        select json_build_object('accountId', account_id, 'id', id, 'reserved', name) from reserved) as all_changes) as changed
    from moment`,
});

/** A credential whose answers may have changed, a session that somebody stopped, or a reservation made or deleted. */
export interface GatewayChange extends Ref {
  readonly stop?: Stop;
  /** The address or domain; null if the reader may not know it. */
  readonly reserved?: string | null;
}

/** The events of the stream: stops first, since each ends a connection, and credentials last, since they can be many. */
export function* gatewayEvents(changed: readonly GatewayChange[]): Generator<StreamEvent> {
  const sessions = changed.flatMap(({ stop }) => stop ?? []);
  for (let n = 0; n < sessions.length; n += MAX_CHANGES_IN_EVENT) {
    yield { name: 'stopped', data: { sessions: sessions.slice(n, n + MAX_CHANGES_IN_EVENT) } };
  }
  const names = changed.flatMap(({ reserved }) => reserved ?? []);
  if (changed.some(({ reserved }) => reserved === null)) yield reservedEvent([], true);
  for (let n = 0; n < names.length; n += MAX_CHANGES_IN_EVENT) {
    yield reservedEvent(names.slice(n, n + MAX_CHANGES_IN_EVENT), false);
  }
  const ids = changed.flatMap(({ id, stop, reserved }) => (stop === undefined && reserved === undefined ? [id] : []));
  for (let n = 0; n < ids.length; n += MAX_CHANGES_IN_EVENT) {
    yield { name: 'changed', data: { credential_ids: ids.slice(n, n + MAX_CHANGES_IN_EVENT) } };
  }
}

const reservedEvent = (names: readonly string[], of_others: boolean): StreamEvent => ({
  name: 'reserved',
  data: { names, of_others },
});

/** Finds the credentials of all accounts whose answers to gateways may have changed, and the sessions that were stopped. */
export class CredentialChanges {
  constructor(private readonly pool: Pool) {}

  since(last: Watermark | undefined): Promise<NewChanges<GatewayChange>> {
    return changesSince(this.pool, CHANGES, [last?.snapshot ?? null, last?.now ?? null], last);
  }
}
