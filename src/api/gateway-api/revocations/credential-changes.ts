import { onPrimary, type Ref } from '../../../database/index.js';
import type { TailEvent } from '../../../event-log/index.js';
import type { Stop } from '../sessions/session-reports.js';
import { IS_RESTART, STOPPED_BY } from '../sessions/session-statements.js';
import { LogChangeStreams, type StreamEvent, TOLD } from './change-streams.js';

/** Beyond this many changes at once, gateways recheck everything. */
const MAX_CHANGES = 10_000;
const MAX_CHANGES_IN_EVENT = 1_000;

/** An event that can change who may bind or serve an address or a domain: updates change texts only. */
export const isOfReservation = ({ stream_id, type }: TailEvent): boolean =>
  /^(ra_|rd_)/.test(stream_id) && !type.endsWith('_updated.v1');

/** SQL of the address or domain of a reservation. */
export const nameOf = (told: string): string => `(
  select coalesce(e.data::json ->> 'addr', e.data::json ->> 'domain') from events e
  where e.account_id = ${told}.account_id and e.stream_id = ${told}.stream_id and e.stream_version = 1)`;

/**
 * No gateway knows a credential that was only created, but each change can change what other credentials of its key
 * permit: see KeyAccess.
 */
const CHANGES = onPrimary({
  name: 'credential_changes',
  text: `with ${TOLD},
    streams as materialized (
      select account_id, stream_id, left(stream_id, 4) = 'sshc' as is_credential, bool_and(type like '%\\_created.v%') as is_unknown
      from told where left(stream_id, 4) in ('sshc', 'usr_', 'bot_') group by account_id, stream_id),
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
        where c.expires_at > $2::timestamptz and c.expires_at <= $3::timestamptz
      limit ${MAX_CHANGES + 1}),
    changed as (
      select account_id, id from touched where not is_unknown
      union
      select c.account_id, c.id
        from touched t join ssh_credentials c on c.fingerprint = t.fingerprint and c.id <> t.id
      limit ${MAX_CHANGES + 1}),
    reserved as (select distinct account_id, stream_id from told where left(stream_id, 3) in ('ra_', 'rd_'))
    select greatest((select count(*) from touched), (select count(*) from changed)) > ${MAX_CHANGES} as "isTooMany",
      (select coalesce(json_agg(one), '[]') from (
        select json_build_object('accountId', account_id, 'id', id) as one from changed
        union all
        select json_build_object('accountId', e.account_id, 'id', e.stream_id, 'stop', json_build_object(
            'account_id', e.account_id, 'session_id', e.stream_id, 'restart', ${IS_RESTART}, 'by', ${STOPPED_BY}))
          from told join events e using (account_id, position) where left(e.stream_id, 3) = 'ts_'
        union all
        select json_build_object('accountId', account_id, 'id', stream_id, 'reserved', ${nameOf('reserved')})
          from reserved) as all_changes) as changed`,
});

/** A credential whose answers may have changed, a session that somebody stopped, or a reservation made or deleted. */
export interface GatewayChange extends Ref {
  readonly stop?: Stop;
  /** The address or domain; null if the reader may not know it. */
  readonly reserved?: string | null;
}

/** Tells of credentials whose answers to gateways may have changed, of sessions that were stopped, and of reservations. */
export class CredentialChanges extends LogChangeStreams<GatewayChange> {
  protected readonly statement = CHANGES;

  protected concerns(event: TailEvent): boolean {
    return /^(sshc|usr_|bot_|ts_)/.test(event.stream_id) || isOfReservation(event);
  }

  /** Stops come first, since each ends a connection, and credentials last, since they can be many. */
  protected *eventsOf(changed: readonly GatewayChange[]): Generator<StreamEvent> {
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
}

const reservedEvent = (names: readonly string[], of_others: boolean): StreamEvent => ({
  name: 'reserved',
  data: { names, of_others },
});
