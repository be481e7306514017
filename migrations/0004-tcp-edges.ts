import { Topic } from './topic.js';

/** Read model of TCP edges, an index of their canonical hostports, and an index of what they name. */
export class TcpEdges1796342400004 extends Topic {
  protected readonly schema = `
    -- jsonb keeps every character of a string as json does, and it can be compared: live rows and replayed rows are equal in any
    -- order of keys. Null: the edge does not have the module.
    create table tcp_edges (
      account_id text collate "C" not null,
      id text collate "C" not null,
      version int not null,
      created_at timestamptz not null,
      description text not null,
      metadata text not null,
      hostports jsonb not null,
      backend jsonb,
      ip_restriction jsonb,
      traffic_policy jsonb,
      constraint tcp_edges_pk primary key (account_id, id)
    ) with (fillfactor = 80);

    -- listed_at: since when the edge has listed the hostport.
    create table tcp_edge_hostports (
      account_id text collate "C" not null,
      edge_id text collate "C" not null,
      hostport text collate "C" not null,
      exclusive boolean not null,
      listed_at timestamptz not null,
      constraint tcp_edge_hostports_pk primary key (account_id, edge_id, hostport)
    );
    create index tcp_edge_hostports_by_hostport on tcp_edge_hostports (hostport, listed_at, edge_id);
    -- Strict mode only, in all accounts: a hostport is an address of the deployment that one edge can serve.
    create unique index tcp_edge_hostports_exclusive on tcp_edge_hostports (hostport) where exclusive;
    -- The hostports of a host are a range of these, whatever the locale of the database is.
    create index tcp_edge_hostports_range on tcp_edge_hostports (hostport collate "C");
    create index tcp_edge_hostports_account_range on tcp_edge_hostports (account_id, hostport collate "C");

    -- What an edge names, each with the account: an id may stand in edges of several accounts.
    create function tcp_edge_names(account_id text, backend jsonb, ip_restriction jsonb) returns text[]
    language plpgsql immutable parallel safe as $$
    begin
      return array(
        select account_id || ' ' || named.id from (
          select backend ->> 'backend_id' as id
          union select jsonb_array_elements_text(ip_restriction -> 'ip_policy_ids')
        ) named where named.id is not null);
    end $$;
    create index tcp_edges_names on tcp_edges using gin (tcp_edge_names(account_id, backend, ip_restriction))
    where backend is not null or ip_restriction is not null;

    -- For the tables of what edges name. The event of a deletion says whether it is for what no edge names only; other deletions
    -- come from lenient mode.
    create function refuse_named() returns trigger language plpgsql as $$
    begin
      if exists (
        select from removed n
        join tcp_edges t on tcp_edge_names(t.account_id, t.backend, t.ip_restriction) @> array[n.account_id || ' ' || n.id]
          and (t.backend is not null or t.ip_restriction is not null)
        where (select e.data::jsonb ? 'unless_named' from events e
          where e.account_id = n.account_id and e.stream_id = n.id and e.stream_version = n.version + 1)
      ) then
        raise exception 'an edge names it'
          using errcode = 'foreign_key_violation', constraint = 'named_by_edge', table = tg_table_name;
      end if;
      return null;
    end $$`;
}
