import { Topic } from './topic.js';

/** Tunnel sessions, tunnels and edge connections that ended. The time in an id is the time of the end. */
export class TunnelRecords1795824000011 extends Topic {
  protected readonly schema = `
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
      transaction_id xid8 not null default pg_current_xact_id(),
      constraint tunnel_session_records_pk primary key (account_id, id)
    ) partition by range (id);
    create table tunnel_session_records_default partition of tunnel_session_records default;
    create index tunnel_session_records_session on tunnel_session_records (account_id, session_id);
    create index tunnel_session_records_credential on tunnel_session_records (account_id, credential_id, id);
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
      constraint tunnel_records_pk primary key (account_id, id)
    ) partition by range (id);
    create table tunnel_records_default partition of tunnel_records default;
    create index tunnel_records_session on tunnel_records (account_id, session_id, id);

    create table edge_connection_records (
      account_id text collate "C" not null,
      id text collate "C" not null,
      edge_id text collate "C" not null,
      hostport text not null,
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
      constraint edge_connection_records_pk primary key (account_id, id)
    ) partition by range (id);
    create table edge_connection_records_default partition of edge_connection_records default;
    create index edge_connection_records_edge on edge_connection_records (account_id, edge_id, id);
    create index edge_connection_records_credential on edge_connection_records (account_id, credential_id, id)
    where credential_id is not null`;
}
