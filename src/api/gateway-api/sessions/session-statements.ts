/** The statements of one report, which run in one transaction. `$1` is always the id of the gateway. */

export const LOCK_GATEWAY = {
  name: 'lock_gateway_run',
  text: `select g.token, g.gateway_account, g.first_report::float8 as first_report, g.last_report::float8 as last_report,
      g.whole_at is not null as is_whole, g.lost_at is not null as is_lost
    from gateway_runs g where g.id = $1 for update`,
};

/** $2 and $3: identity and account of its token; $4: the report. */
export const ADD_GATEWAY = {
  name: 'add_gateway_run',
  text: `insert into gateway_runs (id, token, gateway_account, first_report, last_report, heard_at)
    values ($1, $2, $3, $4, $4, clock_timestamp()) on conflict (id) do nothing returning id`,
};

/** Gateways of a token begin one after another, so that each counts those before it. $1 and $2: its identity and account. */
export const LOCK_TOKEN = {
  name: 'lock_gateway_token',
  text: `select pg_advisory_xact_lock(hashtext('gateways of a token'), hashtext(concat_ws(' ', $1::text, $2::text)))`,
};

/** $2: what the gateway says of itself. */
export const TELL_OF_GATEWAY = {
  name: 'tell_of_gateway',
  text: 'update gateway_runs g set about = $2 where g.id = $1 and g.about is distinct from $2::jsonb',
};

/** The runs and the open sessions of a token. $1 and $2: its identity and account. */
export const USE_OF_TOKEN = {
  name: 'use_of_gateway_token',
  text: `select (select count(*)::int from gateway_runs g where g.lost_at is null
        and g.token = $1 and g.gateway_account is not distinct from $2) as gateways,
      (select coalesce(sum((select count(*) from tunnel_sessions s where s.gateway_id = g.id)), 0)::int from gateway_runs g
        where g.lost_at is null and g.token = $1 and g.gateway_account is not distinct from $2) as sessions`,
};

/** The open tunnels of a gateway. */
export const COUNT_TUNNELS = {
  name: 'count_tunnels_of_gateway',
  text: 'select count(*)::int as tunnels from tunnels t where t.gateway_id = $1',
};

/** $2: the report; $3: whether it counts; $4: whether it ends a whole state. A gateway that was lost begins anew with it. */
export const HEAR_GATEWAY = {
  name: 'hear_gateway_run',
  text: `update gateway_runs g set heard_at = clock_timestamp(), last_report = greatest(g.last_report, $2),
      first_report = case when $3 and g.lost_at is not null then $2 else g.first_report end,
      whole_at = case when $4 then clock_timestamp() when $3 and g.lost_at is not null then null else g.whole_at end,
      lost_at = case when $3 then null else g.lost_at end
    where g.id = $1`,
};

/** The columns of what is sent to the database in lists. */
const COLUMNS = {
  ...{ id: 'text', account_id: 'text', record_id: 'text', session_id: 'text', tunnel_id: 'text', edge_id: 'text' },
  ...{ credential_id: 'text', fingerprint: 'text', source: 'text', client: 'text', hostport: 'text', reason: 'text' },
  ...{ host: 'text' },
  ...{ ago_ms: 'float8', ms: 'float8', bytes_in: 'bigint', bytes_out: 'bigint', connections: 'bigint' },
  ...{ targets: 'jsonb', logs: 'jsonb', change: 'int', seen_at: 'timestamptz' },
};
/** The rows `g` of a list of objects: `$2`, or another parameter. */
const rowsOf = (columns: readonly (keyof typeof COLUMNS)[], parameter = '$2'): string =>
  `json_to_recordset(${parameter}::json) as g(${columns.map((name) => `${name} ${COLUMNS[name]}`).join(', ')})`;
const given = (columns: readonly (keyof typeof COLUMNS)[], ...further: readonly string[]): string =>
  `given as materialized (select ${['g.*', ...further].join(', ')} from ${rowsOf(columns)})`;
const TRAFFIC = ['bytes_in', 'bytes_out', 'connections'] as const;
/** PostgreSQL looks each row of `given` up by its key, and never reads all rows of the table. */
const KEYS = (of: string, id = 'id'): string => `${of}.account_id = any(array(select account_id from given))
  and ${of}.${id} = any(array(select id from given)) and ${of}.account_id = g.account_id and ${of}.${id} = g.id`;
/** A credential that was deleted meanwhile still has the event that created it. */
const OWNER = `coalesce(
  (select c.owner_id from ssh_credentials c where c.account_id = g.account_id and c.id = g.credential_id),
  (select e.data::json ->> 'owner_id' from events e
    where e.account_id = g.account_id and e.stream_id = g.credential_id and e.stream_version = 1)) as owner_id`;
/** All statements of a report have one time. */
const AGO = `now() - g.ago_ms * interval '1 millisecond'`;

/** $2: sessions; $3: the report; $4: name of the gateway; $5: whether new ones are taken. Returns those that count. */
export const OPEN_SESSIONS = {
  name: 'open_tunnel_sessions',
  text: `with ${given(['id', 'account_id', 'credential_id', 'fingerprint', 'source', 'client', 'ago_ms'], OWNER)},
    refreshed as (
      update tunnel_sessions s set reported = $3 from given g
        where ${KEYS('s')} and s.gateway_id = $1 returning s.account_id, s.id),
    added as (
      insert into tunnel_sessions (account_id, id, gateway_id, gateway_name, credential_id, owner_id, fingerprint, source, client,
        started_at, reported)
      select g.account_id, g.id, $1, $4, g.credential_id, g.owner_id, g.fingerprint, g.source, g.client, ${AGO}, $3
        from given g where $5 and g.owner_id is not null order by g.account_id, g.id
      on conflict (account_id, id) do nothing returning account_id, id, credential_id)
    select account_id, id, null as credential_id, null as seen_at from refreshed
    union all select account_id, id, credential_id, now() from added`,
};

const OPEN_SESSION = `(select s.id from tunnel_sessions s
  where s.account_id = g.account_id and s.id = g.session_id and s.gateway_id = $1) as open_session`;
const TUNNEL = ['id', 'account_id', 'session_id', 'credential_id', 'targets', 'ago_ms'] as const;

/** $2: tunnels; $3: the report; $4: whether new ones are taken. Returns for each whether it counts. */
export const OPEN_TUNNELS = {
  name: 'open_tunnels',
  text: `with ${given(TUNNEL, OWNER, OPEN_SESSION)},
    refreshed as (
      update tunnels t set reported = $3 from given g where ${KEYS('t')} and t.gateway_id = $1 returning t.id),
    added as (
      insert into tunnels (account_id, id, session_id, gateway_id, credential_id, owner_id, targets, started_at, reported)
      select g.account_id, g.id, g.session_id, $1, g.credential_id, g.owner_id, g.targets, ${AGO}, $3
        from given g where $4 and g.owner_id is not null and g.open_session is not null order by g.account_id, g.id
      on conflict (account_id, id) do nothing returning id)
    select g.id, g.open_session is not null as is_session_open,
      g.id in (select id from refreshed union all select id from added) as is_counted from given g`,
};

const countUse = (name: string, table: 'tunnel_sessions' | 'tunnels') => ({
  name,
  text: `with ${given(['id', 'account_id', ...TRAFFIC])}
    update ${table} t set bytes_in = g.bytes_in, bytes_out = g.bytes_out, connections = g.connections from given g
    where ${KEYS('t')} and t.gateway_id = $1 returning t.id`,
});
/** $2: what was used. Returns the ids that count. */
export const USE_SESSIONS = countUse('count_use_of_sessions', 'tunnel_sessions');
export const USE_TUNNELS = countUse('count_use_of_tunnels', 'tunnels');

const ENDED = given(['id', 'account_id', 'record_id', 'ago_ms', 'reason', ...TRAFFIC]);
const LAST_TRAFFIC = `coalesce(g.bytes_in, t.bytes_in) as last_in, coalesce(g.bytes_out, t.bytes_out) as last_out,
  coalesce(g.connections, t.connections) as last_connections`;
/** A clock that the service set back cannot end what has not begun. */
const ENDED_AT = 'greatest(gone.ended_at, gone.started_at)';

/** A gateway that was silent for longer, and still has its sessions, has them twice in the records. */
export const FORGET_ENDS_OF_MS = 2 * 86_400_000;
const MAX_SKEW_MS = 3_600_000;
/** From then on no report deletes the record. */
const SETTLED_AT = `clock_timestamp() + case reason when 'gateway_lost' then interval '${FORGET_ENDS_OF_MS + MAX_SKEW_MS} ms' else '0' end`;

/** $2: ends. Returns the ids that count. */
export const END_TUNNELS = {
  name: 'end_tunnels',
  text: `with ${ENDED}, gone as (
      delete from tunnels t using given g where ${KEYS('t')} and t.gateway_id = $1
        returning t.*, g.record_id, g.reason, ${AGO} as ended_at, ${LAST_TRAFFIC})
    insert into tunnel_records (account_id, id, tunnel_id, session_id, credential_id, owner_id, targets, started_at, ended_at,
      reason, bytes_in, bytes_out, connections, settled_at)
    select account_id, record_id, id, session_id, credential_id, owner_id, targets, started_at, ${ENDED_AT}, reason, last_in,
      last_out, last_connections, ${SETTLED_AT} from gone
    returning tunnel_id as id`,
};

/** $2: ends. Returns the sessions that count. */
export const END_SESSIONS = {
  name: 'end_tunnel_sessions',
  text: `with ${ENDED}, gone as (
      delete from tunnel_sessions t using given g where ${KEYS('t')} and t.gateway_id = $1
        returning t.*, g.record_id, g.reason, ${AGO} as ended_at, ${LAST_TRAFFIC})
    insert into tunnel_session_records (account_id, id, session_id, gateway_id, gateway_name, credential_id, owner_id, fingerprint,
      source, client, started_at, ended_at, reason, bytes_in, bytes_out, connections, settled_at)
    select account_id, record_id, id, gateway_id, gateway_name, credential_id, owner_id, fingerprint, source, client,
      started_at, ${ENDED_AT}, reason, last_in, last_out, last_connections, ${SETTLED_AT} from gone
    returning account_id, session_id as id, credential_id, ended_at as seen_at`,
};

/** The open tunnels of sessions. $2: the sessions. */
export const TUNNELS_OF_SESSIONS = {
  name: 'tunnels_of_sessions',
  text: `with ${given(['id', 'account_id'])}
    select t.account_id, t.id, t.session_id from given g join tunnels t on ${KEYS('t', 'session_id')} and t.gateway_id = $1`,
};

/** The next rows of a gateway that no report from $2 on has. */
const unreported = (name: string, table: 'tunnel_sessions' | 'tunnels') => ({
  name,
  text: `select t.account_id, t.id from ${table} t
    where (t.gateway_id, t.account_id) > ($1, '') and (t.gateway_id, t.account_id) < ($1, '~') and t.reported < $2
    order by t.gateway_id, t.account_id, t.id limit $3`,
});
export const UNREPORTED_SESSIONS = unreported('unreported_sessions', 'tunnel_sessions');
export const UNREPORTED_TUNNELS = unreported('unreported_tunnels', 'tunnels');

/**
 * Sessions that are open again never ended: their gateway was only silent. $2: the sessions; $3: the oldest id of a record that
 * is looked for.
 */
export const FORGET_SESSION_ENDS = {
  name: 'forget_ends_of_sessions',
  text: `delete from tunnel_session_records r where r.account_id = any($4::text[]) and r.session_id = any($2::text[])
    and r.id >= $3 and r.gateway_id = $1 and r.reason = 'gateway_lost'`,
};
/** $1: their accounts; $2: the sessions; $3: the oldest id of a record that is looked for. */
export const FORGET_TUNNEL_ENDS = {
  name: 'forget_ends_of_tunnels',
  text: `delete from tunnel_records r where r.account_id = any($1::text[]) and r.session_id = any($2::text[])
    and r.id >= $3 and r.reason = 'gateway_lost'`,
};

/**
 * $1: by how much the number of open sessions of each credential changes, and when it was seen. In order, so that gateways do
 * not deadlock.
 */
export const COUNT_PRESENCE = {
  name: 'count_credential_presence',
  text: `insert into credential_presence as p (account_id, credential_id, sessions, last_seen_at)
    select g.account_id, g.credential_id, g.change, g.seen_at
      from ${rowsOf(['account_id', 'credential_id', 'change', 'seen_at'], '$1')}
      order by g.account_id, g.credential_id
    on conflict (account_id, credential_id)
    do update set sessions = p.sessions + excluded.sessions, last_seen_at = greatest(p.last_seen_at, excluded.last_seen_at)`,
};

/**
 * An id of a connection; null if it stands for something open in another account, and for nothing in this one. `ended`: where this
 * account has what has ended. Scalar subqueries, since PostgreSQL could read all rows of the table for an `exists`.
 */
const ownId = (id: string, table: string, ended: string): string => `case when
  (select true from ${table} o where o.id = g.${id} and o.account_id <> g.account_id limit 1)
  and coalesce((select true from ${table} o where o.account_id = g.account_id and o.id = g.${id}),
    (select true from ${ended} limit 1)) is null then null else g.${id} end`;
const SESSION_ID = ownId(
  'session_id',
  'tunnel_sessions',
  'tunnel_session_records r where r.account_id = g.account_id and r.session_id = g.session_id',
);
const TUNNEL_ID = ownId(
  'tunnel_id',
  'tunnels',
  'tunnel_records r where r.account_id = g.account_id and r.session_id = g.session_id and r.tunnel_id = g.tunnel_id',
);
const CREDENTIAL_ID = ownId(
  'credential_id',
  'ssh_credentials',
  'events e where e.account_id = g.account_id and e.stream_id = g.credential_id and e.stream_version = 1',
);

/** $2: connections to edges that ended; $3: name of the gateway. Returns the records that count, with the ids that they keep. */
export const RECORD_EDGE_CONNECTIONS = {
  name: 'record_edge_connections',
  text: `insert into edge_connection_records (account_id, id, edge_id, hostport, host, client, gateway_id, gateway_name, session_id,
      tunnel_id, credential_id, started_at, ended_at, reason, bytes_in, bytes_out, logs)
    select g.account_id, g.record_id, g.edge_id, g.hostport, g.host, g.client, $1, $3, ${SESSION_ID}, ${TUNNEL_ID}, ${CREDENTIAL_ID},
      ${AGO} - g.ms * interval '1 millisecond', ${AGO}, g.reason, g.bytes_in, g.bytes_out, g.logs
    from ${rowsOf([
      ...([
        'record_id',
        'account_id',
        'edge_id',
        'hostport',
        'host',
        'client',
        'session_id',
        'tunnel_id',
        'credential_id',
      ] as const),
      ...(['ago_ms', 'ms', 'reason', 'bytes_in', 'bytes_out', 'logs'] as const),
    ])}
    where (select e.stream_version from events e
      where e.account_id = g.account_id and e.stream_id = coalesce(g.edge_id, g.credential_id) and e.stream_version = 1) = 1
      and (g.edge_id is null) = (g.hostport is null) and (g.edge_id is null) <> (g.host is null)
    returning id, session_id, tunnel_id, credential_id`,
};

/** What the event `e` of a stopped session says. */
export const IS_RESTART = `coalesce((e.data::json ->> 'restart')::boolean, false)`;
/** The name of who stopped it, or the id: a deleted user has no name. */
export const STOPPED_BY = `coalesce((
  select coalesce(nullif(p.name, ''), nullif(p.email, '')) from principals p
  where p.account_id = e.account_id and p.id = event_actor(e.metadata)), event_actor(e.metadata))`;

/** The sessions of the gateway that somebody stopped. */
export const STOPPED_SESSIONS = {
  name: 'stopped_sessions_of_gateway',
  text: `select s.account_id, s.id as session_id, ${IS_RESTART} as restart, ${STOPPED_BY} as by
    from tunnel_sessions s cross join lateral (
      select e.account_id, e.data, e.metadata from events e
      where e.account_id = s.account_id and e.stream_id = s.id order by e.stream_version desc limit 1) e
    where s.gateway_id = $1`,
};

/** $2: whether all that it had has ended. From the first end on the service does not hold its whole state. */
export const LOSE_GATEWAY = {
  name: 'lose_gateway_run',
  text: 'update gateway_runs set whole_at = null, lost_at = case when $2 then clock_timestamp() end where id = $1',
};
