import { Topic } from './topic.js';

/**
 * Read models of reserved addresses and domains, and the names that rest after their deletion. Each address and each
 * domain is unique in the deployment, by an index. What overlaps belongs to one account, by a lock on the registrable name.
 */
export class Reservations1796342400012 extends Topic {
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

    -- No fold: the event of a deletion says for how long its name rests (rest_ms). There is at most one row for each name.
    -- since: when it was reserved. Null: nobody knows, so it counts as older than all that is reserved.
    create table resting_names (
      name text collate "C" not null,
      account_id text collate "C" not null,
      until timestamptz not null,
      since timestamptz,
      constraint resting_names_pk primary key (name)
    ) with (fillfactor = 80);
    -- For an export, account by account, and for the number of names of an account that rest.
    create index resting_names_account on resting_names (account_id, name);
    create index resting_names_host on resting_names (reverse(host_of(name)) collate "C");
    -- For the streams of edges, which tell when a rest is over, for lines of sshd, and for rows that are too old. PostgreSQL
    -- would take an index on the column itself for look-ups of names too, and read all names that rest.
    create index resting_names_until on resting_names ((until at time zone 'UTC'));

    -- The names that rest and overlap an address, a host or a wildcard. A host overlaps the addresses at it.
    create function resting_of(wanted text) returns table (account_id text, until timestamptz, since timestamptz)
    language sql stable parallel safe as $$
      select r.account_id, r.until, r.since from resting_names r
        where r.name = any(wanted || covering_names(host_of(wanted))) and r.until > statement_timestamp()
      union all
      select r.account_id, r.until, r.since from resting_names r
        where host_of(wanted) = wanted and r.name > wanted || ':' and r.name < wanted || ';' and r.until > statement_timestamp()
      union all
      select r.account_id, r.until, r.since from resting_names r where wanted like '*.%'
        and reverse(host_of(r.name)) collate "C" >= reverse(substr(host_of(wanted), 2)) collate "C"
        and reverse(host_of(r.name)) collate "C" < reverse(substr(host_of(wanted), 3)) || '/' collate "C"
        and r.until > statement_timestamp()
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

    -- Names share locks, since an import of many names would else fill the memory that all sessions have for locks. A batch
    -- can reserve in both tables, each of which has a trigger. So the first trigger locks the names of all events of the
    -- transaction, in one order: if each locked those of its table, two batches could wait for each other.
    create function lock_names(names text[]) returns void language plpgsql as $$
    begin
      perform pg_advisory_xact_lock(hashtext('reserved names'), place) from (
        select distinct abs(hashtext(registrable_name(host_of(name))) % 256) as place from (
          select unnest(names) as name
          union all
          select coalesce(e.data::json ->> 'addr', e.data::json ->> 'domain') from events e
          where e.transaction_id = pg_current_xact_id() and left(e.stream_id, 3) in ('ra_', 'rd_') and e.stream_version = 1
        ) as reserved order by place) as sorted;
    end $$;

    -- Also looks again at what rests, since its deletion can be newer than what the service has read. An import ends a rest,
    -- as an account does that reserves its own name again.
    create function refuse_reserved_elsewhere() returns trigger language plpgsql as $$
    declare
      names text[];
      accounts text[];
      taken boolean;
      rests boolean;
    begin
      if tg_table_name = 'reserved_addrs' then
        select array_agg(a.addr), array_agg(a.account_id) into names, accounts from added a;
      else
        select array_agg(d.domain), array_agg(d.account_id) into names, accounts from added d;
      end if;
      perform lock_names(names);
      select exists (select from unnest(names, accounts) as n(name, account)
          cross join lateral reserving_accounts(host_of(n.name), host_of(n.name) = n.name) r where r <> n.account),
        exists (select from unnest(names, accounts) as n(name, account)
          cross join lateral resting_of(n.name) r where r.account_id <> n.account)
          and current_setting('tunnel_access.import', true) is distinct from 'on'
        into taken, rests;
      if taken or rests then
        raise exception 'another account has it or had it' using errcode = 'unique_violation',
          constraint = case when taken then 'reserved_elsewhere' else 'rests_elsewhere' end, table = tg_table_name;
      end if;
      delete from resting_names r using unnest(names) as n(name) where r.name = n.name;
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

    -- The reservations of an account, with those of its names that rest, but for one name. It counts no further than most.
    create function reservations_of(account text, most int, but text) returns int language sql stable parallel safe as $$
      select count(*)::int from (
        (select from reserved_addrs a where a.account_id = account limit most)
        union all (select from reserved_domains d where d.account_id = account limit most)
        union all (select from resting_names r where r.account_id = account and r.name <> but
          and r.until > statement_timestamp() limit most)) counted
    $$;

    -- Appends of an account run one after another, so it sees those that were committed since the decision. Only the append
    -- of a create sets a maximum: a repair and an import do not count.
    create function refuse_too_many_reservations() returns trigger language plpgsql as $$
    declare
      maximum int := current_setting('tunnel_access.max_' || tg_table_name);
    begin
      if exists (select from (select distinct account_id from added) a where reservations_of(a.account_id, maximum + 1, '') > maximum) then
        raise exception 'the account has more than % reservations', maximum
          using errcode = 'check_violation', constraint = 'too_many_reservations', table = tg_table_name;
      end if;
      return null;
    end $$;
    create trigger reserved_addrs_maximum after insert on reserved_addrs referencing new table as added
    for each statement when (current_setting('tunnel_access.max_reserved_addrs', true) <> '')
    execute function refuse_too_many_reservations();
    create trigger reserved_domains_maximum after insert on reserved_domains referencing new table as added
    for each statement when (current_setting('tunnel_access.max_reserved_domains', true) <> '')
    execute function refuse_too_many_reservations();

    create function rest_deleted() returns trigger language plpgsql as $$
    begin
      insert into resting_names (name, account_id, until, since)
      select coalesce(to_jsonb(r) ->> 'addr', to_jsonb(r) ->> 'domain') as name, r.account_id,
        clock_timestamp() + make_interval(secs => coalesce((
          select (e.data::json ->> 'rest_ms')::float8 from events e
          where e.account_id = r.account_id and e.stream_id = r.id and e.stream_version = r.version + 1), 3600000) / 1000),
        (select e.recorded_at from events e
          where e.account_id = r.account_id and e.stream_id = r.id and e.stream_version = 1)
      from removed r order by name
      on conflict (name) do update set account_id = excluded.account_id, until = excluded.until, since = excluded.since;
      -- The streams of edges look for the ends of rests each moment. As an array, so that PostgreSQL selects the rows once.
      delete from resting_names where name = any(array(
        select o.name from resting_names o
        where o.until at time zone 'UTC' < (statement_timestamp() - interval '10 minutes') at time zone 'UTC'
        limit 100 for update skip locked));
      return null;
    end $$;
    create trigger reserved_addrs_rest after delete on reserved_addrs referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function rest_deleted();
    create trigger reserved_domains_rest after delete on reserved_domains referencing old table as removed
    for each statement when (current_setting('tunnel_access.repair', true) is distinct from 'on')
    execute function rest_deleted();

    -- The events that can change who may bind an address or a domain, since a snapshot that may be hours old.
    create index events_of_reservations on events (transaction_id)
    where transaction_id is not null and left(stream_id, 3) in ('ra_', 'rd_')`;
}
