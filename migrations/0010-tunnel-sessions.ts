import { Topic } from './topic.js';

/** What is open now, as gateways report it. Not read models: no event makes these rows. */
export class TunnelSessions1796342400010 extends Topic {
  protected readonly schema = `
    -- A run of a gateway, from its start to its end or its silence. token is the name of its token, or the SHA-256 of a token
    -- without a name; gateway_account is null for all accounts. whole_at is null until the gateway has reported all that is open.
    -- lost_at is when it was silent for too long: the row stays for a day, so that no report counts twice.
    -- about is what the gateway says of itself, such as its hosts.
    create table gateway_runs (
      id text collate "C" not null,
      token text collate "C" not null,
      gateway_account text collate "C",
      first_report bigint not null,
      last_report bigint not null,
      heard_at timestamptz not null,
      whole_at timestamptz,
      lost_at timestamptz,
      about jsonb,
      constraint gateway_runs_pk primary key (id)
    ) with (fillfactor = 50);
    -- What gateways for all accounts say of themselves. Whoever reserves a name looks for it among their hosts.
    create index gateway_runs_about on gateway_runs (id) where about is not null and gateway_account is null;
    -- A gateway that starts again and again leaves many rows behind.
    create index gateway_runs_live on gateway_runs (id) where lost_at is null;

    -- One row: when an instance of the service last looked for silent gateways, and since when looks have followed each other.
    create table gateway_watch (
      is_only boolean not null default true check (is_only),
      looked_at timestamptz not null,
      watching_since timestamptz not null,
      constraint gateway_watch_pk primary key (is_only)
    );

    -- Open sessions. Texts that a client sent are bounded by the service. Numbers are null where a gateway does not count.
    -- reported is the last report of the gateway that had the row. transaction_id is the transaction that made it.
    create table tunnel_sessions (
      account_id text collate "C" not null,
      id text collate "C" not null,
      gateway_id text collate "C" not null,
      gateway_name text collate "C",
      credential_id text collate "C" not null,
      owner_id text collate "C" not null,
      fingerprint text,
      source text,
      client text,
      started_at timestamptz not null,
      bytes_in bigint,
      bytes_out bigint,
      connections bigint,
      reported bigint not null,
      transaction_id xid8 not null default pg_current_xact_id(),
      constraint tunnel_sessions_pk primary key (account_id, id)
    ) with (fillfactor = 70);
    create index tunnel_sessions_owner on tunnel_sessions (account_id, owner_id, id);
    create index tunnel_sessions_credential on tunnel_sessions (account_id, credential_id, id);
    create index tunnel_sessions_gateway on tunnel_sessions (gateway_id, account_id, id);
    create index tunnel_sessions_transaction on tunnel_sessions (transaction_id);
    -- Whether an id is of another account. As with credentials, no plan takes it for a page of an account.
    create index tunnel_sessions_by_id on tunnel_sessions (id text_pattern_ops);

    -- Open tunnels. A client with several credentials can have tunnels that another credential than that of its session permits.
    create table tunnels (
      account_id text collate "C" not null,
      id text collate "C" not null,
      session_id text collate "C" not null,
      gateway_id text collate "C" not null,
      credential_id text collate "C" not null,
      owner_id text collate "C" not null,
      targets jsonb not null,
      started_at timestamptz not null,
      bytes_in bigint,
      bytes_out bigint,
      connections bigint,
      reported bigint not null,
      constraint tunnels_pk primary key (account_id, id)
    ) with (fillfactor = 70);
    create index tunnels_session on tunnels (account_id, session_id, id);
    create index tunnels_owner on tunnels (account_id, owner_id, id);
    create index tunnels_credential on tunnels (account_id, credential_id, id);
    -- Tunnel groups find their tunnels by labels.
    create index tunnels_targets on tunnels using gin (targets jsonb_path_ops);
    create index tunnels_gateway on tunnels (gateway_id, account_id, id);
    create index tunnels_by_id on tunnels (id text_pattern_ops);

    -- The open sessions of each credential that ever had one, and when the last one ended.
    create table credential_presence (
      account_id text collate "C" not null,
      credential_id text collate "C" not null,
      sessions int not null,
      last_seen_at timestamptz not null,
      constraint credential_presence_pk primary key (account_id, credential_id)
    ) with (fillfactor = 50);
    create index credential_presence_online on credential_presence (account_id, credential_id) where sessions > 0`;
}
