/**
 * Makes a log of a given size by SQL: valid events with right leaf hashes, and no rows. Of ten events seven create a
 * credential, one creates an edge, one updates a credential, and one deletes a credential or updates an edge. What is
 * updated or deleted was created when the log was half as long.
 */
export const ACCOUNT = 'ac_000000000000000000000Bench1';
const OWNER = 'usr_000000000000000000000Bench1';
const PER_STATEMENT = 50_000;

/** Event ids like those of the service: UUIDs of version 7, which begin with the time in milliseconds. */
const EVENT_ID = `(lpad(to_hex(floor(extract(epoch from at) * 1000)::bigint), 12, '0') || '7' || substr(md5(n::text), 1, 3)
  || '8' || substr(md5(n::text), 4, 15))::uuid`;

const ID = (prefix, number) => `'${prefix}_0' || lpad((${number})::text, 26, '0')`;

/**
 * Events $3 + 1 to $4 of the account $1 and the owner $2. `n` counts events from 0, `b` is the block of ten, and `h` is
 * half of `b`.
 */
const INSERT = `
  insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  select $1, position, stream_id, stream_version, event_id, type, data, metadata, at, at,
    event_leaf_hash($1, position, stream_id, stream_version, event_id, type, data, metadata, at, at)
  from (
    select n + 1 as position, k, n, ${EVENT_ID} as event_id, at,
      case when k < 7 then ${ID('sshcr', 'b * 7 + k')} when k = 7 then ${ID('sshcr', 'h * 7 + b % 2')}
        when k = 8 then ${ID('edgtcp', 'b')} when b % 2 = 0 then ${ID('sshcr', 'h * 7 + 2')} else ${ID('edgtcp', 'h')} end as stream_id,
      case when k < 7 or k = 8 then 1 else 2 end as stream_version,
      case when k < 7 then 'ssh_credential_created.v1' when k = 7 then 'ssh_credential_updated.v1'
        when k = 8 then 'tcp_edge_created.v1' when b % 2 = 0 then 'ssh_credential_deleted.v1' else 'tcp_edge_updated.v1' end as type,
      case when k < 7 then
          '{"description":"laptop ' || n || '","metadata":"{\\"team\\": \\"blue\\"}","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI'
          || left(translate(encode(sha256(n::text::bytea), 'base64'), '=', ''), 43) || ' user' || n
          || '@example.com","acl":["bind:*.example.com","bind:1.tcp.example.com:' || 20000 + n % 10000 || '"],"owner_id":"' || $2
          || '","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAI'
          || left(translate(encode(sha256(n::text::bytea), 'base64'), '=', ''), 43) || '","fingerprint":"SHA256:'
          || translate(encode(sha256(n::text::bytea), 'base64'), '=', '') || '","exclusive":false}'
        when k = 7 then '{"description":"old laptop ' || n || '","acl":[]}'
        when k = 8 then '{"description":"edge ' || n || '","metadata":"","hostports":[{"text":"1.tcp.example.com:' || 20000 + n % 10000
          || '","canonical":"1.tcp.example.com:' || 20000 + n % 10000
          || '","exclusive":false}],"backend":{"enabled":true,"backend_id":"bkdtg_web"},"ip_restriction":null,"traffic_policy":null}'
        when b % 2 = 0 then '{}'
        else '{"traffic_policy":{"enabled":true,"value":"{\\"on_tcp_connect\\": []}"}}' end as data,
      '{"actor":"' || $2 || '","api_key_id":"ak_000000000000000000000Bench1","ip":"192.0.2.7","user_agent":"bench","operation_id":"op_0'
        || lpad(n::text, 26, '0') || '"}' as metadata
    from (select n, n % 10 as k, n / 10 as b, n / 20 as h, timestamptz '2026-01-01 00:00:00Z' + n * interval '1 millisecond' as at
      from generate_series($3::int, $4::int - 1) n) numbered
  ) made order by position`;

/** Appends `count` events of a separate account, and returns the id of the account. */
export async function writeManyEvents(client, count) {
  for (let from = 0; from < count; from += PER_STATEMENT) {
    await client.query(INSERT, [ACCOUNT, OWNER, from, Math.min(from + PER_STATEMENT, count)]);
  }
  await client.query(
    'insert into log_heads (account_id, size, recorded_at) select $1, count(*), max(recorded_at) from events where account_id = $1',
    [ACCOUNT],
  );
  await client.query('vacuum analyze events');
  return ACCOUNT;
}
