import { Topic } from './topic.js';

/** The log: a gapless sequence of events for each account, and its head. A guard keeps history unchanged. */
export class EventLog1796342400001 extends Topic {
  protected readonly schema = `
    -- Raises 25006 on a standby, which answers from the past: a pooler may give a checked connection to another server. It is
    -- stable, so a statement calls it once, before it reads a row.
    create function require_primary() returns boolean language plpgsql stable parallel safe cost 1 as $$
    begin
      if pg_is_in_recovery() then
        raise read_only_sql_transaction using message = 'the server is a standby, not the primary';
      end if;
      return true;
    end $$;

    -- rights_position: the last event that may have taken rights. An append that was decided before it is decided again.
    create table log_heads (
      account_id text collate "C" primary key,
      size bigint not null,
      recorded_at timestamptz not null,
      rights_position bigint not null default 0
    ) with (fillfactor = 10);

    -- events_event_id precedes events_stream_version, so that PostgreSQL reports a repeated command before a conflict.
    -- transaction_id finds the events that were committed since an instance last looked. Times cannot tell, since a
    -- transaction may commit long after its time.
    create table events (
      account_id text collate "C" not null,
      position bigint not null,
      stream_id text collate "C" not null,
      stream_version int not null,
      event_id uuid not null,
      type text not null,
      data text not null,
      metadata text not null,
      occurred_at timestamptz not null,
      recorded_at timestamptz not null,
      leaf_hash bytea not null,
      transaction_id xid8 default pg_current_xact_id(),
      constraint events_pk primary key (account_id, position),
      constraint events_event_id unique (account_id, event_id),
      constraint events_stream_version unique (account_id, stream_id, stream_version)
    );

    create function refuse_change_of_history() returns trigger language plpgsql as $$
    begin
      raise exception 'events are append-only: % refused', tg_op using errcode = 'restrict_violation';
    end $$;
    create trigger events_guard before update or delete or truncate on events
    for each statement execute function refuse_change_of_history();

    -- Texts are netstrings (length in bytes, colon, text, comma), and a comma ends numbers and the uuid, so two different
    -- events never share an encoding. The leading zero byte is RFC 6962's mark of a leaf. Times are microseconds since 1970.
    -- PostgreSQL inlines a single expression without a FROM.
    create function event_leaf_hash(
      account_id text, event_position bigint, stream_id text, stream_version int, event_id uuid, type text,
      data text, metadata text, occurred_at timestamptz, recorded_at timestamptz
    ) returns bytea language sql stable parallel safe as $$
      select sha256('\\x00'::bytea || convert_to(concat(
        octet_length(account_id), ':', account_id, ',',
        event_position, ',',
        octet_length(stream_id), ':', stream_id, ',',
        stream_version, ',',
        event_id, ',',
        octet_length(type), ':', type, ',',
        octet_length(data), ':', data, ',',
        octet_length(metadata), ':', metadata, ',',
        (extract(epoch from occurred_at) * 1000000)::bigint, ',',
        (extract(epoch from recorded_at) * 1000000)::bigint, ','), 'UTF8'))
    $$;

    -- The service writes the actor first, as an id, which needs no escape: the JSON of such an event is not parsed. It is not in
    -- SQL, because an index needs an immutable function, and the cast of text to json is only stable.
    create function event_actor(metadata text) returns text language plpgsql immutable strict parallel safe as $$
    begin
      return case
        when starts_with(metadata, '{"actor":"') and strpos(split_part(metadata, '"', 4), '\\') = 0
          then split_part(metadata, '"', 4)
        else metadata::json ->> 'actor'
      end;
    end $$;

    -- The filters of /events. An actor has few types of events, so events_actor also serves a filter by actor alone.
    create index events_type on events (account_id, type, position);
    create index events_actor on events (account_id, event_actor(metadata), type, position);

    -- The events that became visible since an instance last looked.
    create index events_transaction on events (transaction_id);

    -- The streams that have ended, in the order of lists: for lists as of an earlier position that select by a field.
    create index events_ends on events (account_id, stream_id, position)
    where type in ('ssh_credential_deleted.v1', 'api_key_deleted.v1')`;
}
