import { Topic } from './topic.js';

/**
 * Read models of reserved addresses and domains, and the names that rest after their deletion. Each address and each
 * domain is unique in the deployment, by an index. What overlaps belongs to one account, by a lock on the registrable name.
 */
export class Reservations1795824000012 extends Topic {
  protected readonly schema = `
    create function host_of(hostport text) returns text language sql immutable strict parallel safe
    as $$ select regexp_replace(hostport, ':[0-9]+$', '') $$;

    -- The last two labels. Whatever overlaps has the same ones, since a wildcard has at least two labels after its star.
    create function registrable_name(host text) returns text language sql immutable strict parallel safe
    as $$ select substring(host from '[^.]*[.]?[^.]*$') $$;

    -- A host, and the wildcards that can be reserved and cover it: those with 2 to 9 labels after the star.
    create function covering_names(host text) returns text[] language sql immutable strict parallel safe as $$
      select host || array(
        select '*.' || array_to_string(labels[n:], '.')
        from string_to_array(host, '.') labels, generate_series(greatest(2, cardinality(labels) - 8), cardinality(labels) - 1) n)
    $$;

    create table reserved_addrs (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      addr text collate "C" not null,
      region text not null,
      constraint reserved_addrs_pk primary key (account_id, id)
    ) with (fillfactor = 80);
    create unique index reserved_addrs_addr on reserved_addrs (addr);
    create index reserved_addrs_host on reserved_addrs (reverse(host_of(addr)) collate "C");

    create table reserved_domains (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      domain text collate "C" not null,
      text text not null,
      region text not null,
      constraint reserved_domains_pk primary key (account_id, id)
    ) with (fillfactor = 80);
    create unique index reserved_domains_domain on reserved_domains (domain);
    create index reserved_domains_reversed on reserved_domains (reverse(domain) collate "C");

    -- No fold: the setting RESERVATION_REST_MS says for how long a row counts. There is at most one for each name.
    create table resting_names (
      name text collate "C" not null,
      account_id text collate "C" not null,
      deleted_at timestamptz not null,
      constraint resting_names_pk primary key (name)
    ) with (fillfactor = 80);
    -- For an export, account by account.
    create index resting_names_account on resting_names (account_id, name);
    create index resting_names_host on resting_names (reverse(host_of(name)) collate "C");
    -- For the streams of edges, which tell when a rest is over, for lines of sshd, and for what is too old to count. PostgreSQL would take an index on the column itself for look-ups of
    -- names too, and read all names that rest.
    create index resting_names_deleted on resting_names ((deleted_at at time zone 'UTC'));

    -- What rests of an address, a host or a wildcard.
    create function resting_of(wanted text) returns table (account_id text, deleted_at timestamptz)
    language sql stable parallel safe as $$
      select r.account_id, r.deleted_at from resting_names r where r.name = any(wanted || covering_names(host_of(wanted)))
      union all
      select r.account_id, r.deleted_at from resting_names r where wanted like '*.%'
        and reverse(host_of(r.name)) collate "C" >= reverse(substr(host_of(wanted), 2)) collate "C"
        and reverse(host_of(r.name)) collate "C" < reverse(substr(host_of(wanted), 3)) || '/' collate "C"
    $$;

    -- The accounts with a reservation that overlaps a host or a wildcard. The address of a host belongs to whoever reserved it,
    -- so addresses of the very host count only if they are asked for. A slash is the character after the dot.
    create function reserving_accounts(pattern text, with_addrs boolean) returns setof text
    language sql stable parallel safe as $$
      select d.account_id from reserved_domains d where d.domain = any(covering_names(pattern))
      union all
      select d.account_id from reserved_domains d where pattern like '*.%'
        and reverse(d.domain) collate "C" >= reverse(substr(pattern, 2)) collate "C"
        and reverse(d.domain) collate "C" < reverse(substr(pattern, 3)) || '/' collate "C"
      union all
      select a.account_id from reserved_addrs a where pattern like '*.%'
        and reverse(host_of(a.addr)) collate "C" >= reverse(substr(pattern, 2)) collate "C"
        and reverse(host_of(a.addr)) collate "C" < reverse(substr(pattern, 3)) || '/' collate "C"
      union all
      select a.account_id from reserved_addrs a where with_addrs and a.addr > pattern || ':' and a.addr < pattern || ';'
    $$;

    -- Whether an account has reserved a hostport, or a domain that covers its host. Nobody can reserve another kind of claim.
    create function has_reserved(account text, claim text) returns boolean language sql stable strict parallel safe as $$
      select starts_with(claim, 'hostport:') and (
        exists (select from reserved_addrs a where a.addr = substr(claim, 10) and a.account_id = account)
        or exists (select from reserved_domains d
          where d.domain = any(covering_names(host_of(substr(claim, 10)))) and d.account_id = account))
    $$;

    -- The claims of all hosts under a wildcard are a range of these.
    create index claims_hostports on claims (reverse(host_of(value)) collate "C") where left(value, 9) = 'hostport:';

    -- Names share locks, since an import of many names would else fill the memory that all sessions have for locks.
    create function lock_names(names text[]) returns void language plpgsql as $$
    begin
      -- One after another in one order, so that two appends never wait for each other.
      perform pg_advisory_xact_lock(hashtext('reserved names'), place)
        from (select distinct abs(hashtext(name) % 256) as place from unnest(names) as name order by place) as sorted;
    end $$;

    create function refuse_reserved_elsewhere() returns trigger language plpgsql as $$
    declare taken boolean;
    begin
      if tg_table_name = 'reserved_addrs' then
        perform lock_names(array(select registrable_name(host_of(a.addr)) from added a));
        select exists (select from added a cross join lateral reserving_accounts(host_of(a.addr), false) r where r <> a.account_id)
          into taken;
      else
        perform lock_names(array(select registrable_name(d.domain) from added d));
        select exists (select from added d cross join lateral reserving_accounts(d.domain, true) r where r <> d.account_id)
          into taken;
      end if;
      if taken then
        raise exception 'another account has reserved it' using
          errcode = 'unique_violation', constraint = 'reserved_elsewhere', table = tg_table_name;
      end if;
      return null;
    end $$;
    create trigger reserved_addrs_elsewhere after insert on reserved_addrs referencing new table as added
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on'
      or current_setting('tunnel_access.import', true) = 'on')
    execute function refuse_reserved_elsewhere();
    create trigger reserved_domains_elsewhere after insert on reserved_domains referencing new table as added
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on'
      or current_setting('tunnel_access.import', true) = 'on')
    execute function refuse_reserved_elsewhere();

    create function rest_deleted() returns trigger language plpgsql as $$
    begin
      insert into resting_names (name, account_id, deleted_at)
      select coalesce(to_jsonb(r) ->> 'addr', to_jsonb(r) ->> 'domain') as name, r.account_id, clock_timestamp() from removed r
      order by name
      on conflict (name) do update set account_id = excluded.account_id, deleted_at = excluded.deleted_at;
      -- A rest takes a week at most.
      delete from resting_names r where r.deleted_at at time zone 'UTC' < (statement_timestamp() - interval '8 days') at time zone 'UTC';
      return null;
    end $$;
    create trigger reserved_addrs_rest after delete on reserved_addrs referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function rest_deleted();
    create trigger reserved_domains_rest after delete on reserved_domains referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function rest_deleted();

    -- The events that can change who may bind an address or a domain.
    create index events_of_reservations on events (transaction_id)
    where transaction_id is not null and left(stream_id, 3) in ('ra_', 'rd_')`;
}
