import { Topic } from './topic.js';

/**
 * Tunnel sessions, tunnels and edge connections that ended, and what keeps the partitions of all records. The time in an id is
 * the time of the end.
 */
export class TunnelRecords1796428800011 extends Topic {
  protected readonly schema = `
    -- settled_at: from then on the row does not change, and an hour of records is sealed by it. It is when the row was written. A
    -- session that was lost with its gateway may be open still and lose its record: it is settled two days later.
    create table tunnel_session_records (
      account_id text collate "C" not null,
      id text collate "C" not null,
      session_id text collate "C" not null,
      gateway_id text collate "C" not null,
      gateway_name text collate "C",
      credential_id text collate "C" not null,
      owner_id text collate "C" not null,
      fingerprint text,
      source text,
      client text,
      started_at timestamptz not null,
      ended_at timestamptz not null,
      reason text not null,
      bytes_in bigint,
      bytes_out bigint,
      connections bigint,
      settled_at timestamptz not null default clock_timestamp(),
      transaction_id xid8 default pg_current_xact_id(),
      constraint tunnel_session_records_pk primary key (account_id, id)
    ) partition by range (id);
    create table tunnel_session_records_default partition of tunnel_session_records default;
    create index tunnel_session_records_session on tunnel_session_records (account_id, session_id);
    -- Partial, although they have all rows: only statements that repeat the condition take them, and take no other.
    create index tunnel_session_records_credential on tunnel_session_records (account_id, credential_id, id)
    where account_id <> '';
    create index tunnel_session_records_settled on tunnel_session_records (account_id, settled_at) where account_id <> '';
    create index tunnel_session_records_transaction on tunnel_session_records (transaction_id);

    create table tunnel_records (
      account_id text collate "C" not null,
      id text collate "C" not null,
      tunnel_id text collate "C" not null,
      session_id text collate "C" not null,
      credential_id text collate "C" not null,
      owner_id text collate "C" not null,
      targets jsonb not null,
      started_at timestamptz not null,
      ended_at timestamptz not null,
      reason text not null,
      bytes_in bigint,
      bytes_out bigint,
      connections bigint,
      settled_at timestamptz not null default clock_timestamp(),
      constraint tunnel_records_pk primary key (account_id, id)
    ) partition by range (id);
    create table tunnel_records_default partition of tunnel_records default;
    create index tunnel_records_session on tunnel_records (account_id, session_id, id);
    create index tunnel_records_settled on tunnel_records (account_id, settled_at) where account_id <> '';

    create table edge_connection_records (
      account_id text collate "C" not null,
      id text collate "C" not null,
      -- Of a connection to an edge.
      edge_id text collate "C",
      hostport text,
      -- Of a connection to a name.
      host text,
      client text,
      gateway_id text collate "C" not null,
      gateway_name text collate "C",
      session_id text collate "C",
      tunnel_id text collate "C",
      credential_id text collate "C",
      started_at timestamptz not null,
      ended_at timestamptz not null,
      reason text not null,
      bytes_in bigint,
      bytes_out bigint,
      logs jsonb,
      settled_at timestamptz not null default clock_timestamp(),
      constraint edge_connection_records_pk primary key (account_id, id)
    ) partition by range (id);
    create table edge_connection_records_default partition of edge_connection_records default;
    create index edge_connection_records_edge on edge_connection_records (account_id, edge_id, id) where account_id <> '';
    create index edge_connection_records_credential on edge_connection_records (account_id, credential_id, id)
    where account_id <> '' and credential_id is not null;
    create index edge_connection_records_settled on edge_connection_records (account_id, settled_at) where account_id <> '';

    -- The smallest id of a second: see firstIdOf in src/kernel/ids.ts.
    create function ksuid_floor(prefix text, at timestamptz) returns text language plpgsql immutable strict parallel safe as $$
    declare
      alphabet constant text := '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
      rest numeric := greatest(floor(extract(epoch from at)) - 1400000000, 0) * 340282366920938463463374607431768211456;
      id text := '';
    begin
      for n in 1..27 loop
        id := substr(alphabet, (rest % 62)::int + 1, 1) || id;
        rest := div(rest, 62);
      end loop;
      return prefix || '_' || id;
    end $$;

    -- What is late, and must be deleted by its age. By an expression, so that no page of an account takes these indexes.
    create index bind_decisions_late on bind_decisions_default ((id || ''));
    create index tunnel_session_records_late on tunnel_session_records_default ((id || ''));
    create index tunnel_records_late on tunnel_records_default ((id || ''));
    create index edge_connection_records_late on edge_connection_records_default ((id || ''));

    -- One step of the care for a record, by the days of UTC: it makes the partitions of today and two days more that are missing;
    -- or else drops one whose rows are all older than \`oldest\` (null: none); or else deletes some old rows of the default
    -- partition, where those stand that are late. It returns how many rows or partitions it removed: call it until it is 0. A step
    -- is a transaction, so that no long work holds a lock that others need. It does nothing while another instance is at it, and
    -- gives up rather than make others wait. It runs as the owner of the tables, since only an owner may do this.
    create function keep_partitions(record text, oldest timestamptz) returns int language plpgsql security definer
    set lock_timeout = '1s' set timezone = 'UTC' as $$
    declare
      prefix constant text := json_build_object('bind_decisions', 'bd', 'tunnel_session_records', 'tsr', 'tunnel_records', 'tnr',
        'edge_connection_records', 'ec') ->> record;
      late constant text := record || '_default';
      -- No caller drops what is new. Whole days go, since a check of what was sealed knows days alone.
      kept constant timestamptz := date_trunc('day', least(oldest, now() - interval '1 day'));
      day timestamptz;
      part text;
      is_late boolean;
      removed int := 0;
      made int := 0;
    begin
      if prefix is null then raise exception 'keep_partitions knows no record %', record; end if;
      if not pg_try_advisory_xact_lock(hashtext('keep_partitions'), hashtext(record)) then return 0; end if;
      for n in 0..2 loop
        day := date_trunc('day', now()) + n * interval '1 day';
        part := record || '_' || to_char(day, 'YYYYMMDD');
        if to_regclass(part) is not null then continue; end if;
        -- PostgreSQL refuses a partition for rows that the default partition has.
        execute format('select exists (select from %I where (id || '''') >= $1 and (id || '''') < $2)', late)
          into is_late using ksuid_floor(prefix, day), ksuid_floor(prefix, day + interval '1 day');
        if is_late then continue; end if;
        execute format('create table %I (like %I including all)', part, record);
        execute format('alter table %I attach partition %I for values from (%L) to (%L)', record, part,
          ksuid_floor(prefix, day), ksuid_floor(prefix, day + interval '1 day'));
        made := made + 1;
      end loop;
      if oldest is null then return 0; end if;
      if made > 0 then return made; end if;
      select c.relname into part from pg_inherits i join pg_class c on c.oid = i.inhrelid
        where i.inhparent = record::regclass and c.relname ~ '_[0-9]{8}$'
          and to_date(right(c.relname, 8), 'YYYYMMDD') + 1 <= kept
        order by c.relname limit 1;
      if found then
        execute format('drop table %I', part);
        return 1;
      end if;
      execute format('delete from %1$I r where r.ctid = any(array(
        select o.ctid from %1$I o where (o.id || '''') < $1 order by (o.id || '''') limit 1000))', late) using ksuid_floor(prefix, kept);
      get diagnostics removed = row_count;
      return removed;
    end $$;
    -- The path ends with pg_temp: otherwise a caller's temporary tables would be found first, and their triggers run as the owner.
    do $$ begin
      execute format('alter function keep_partitions(text, timestamptz) set search_path = %I, pg_temp', current_schema());
    end $$;
    revoke execute on function keep_partitions from public;
    select keep_partitions(record, null)
    from unnest('{bind_decisions, tunnel_session_records, tunnel_records, edge_connection_records}'::text[]) record`;
}
