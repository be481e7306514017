import type { Pool, QueryResult } from 'pg';

/** Credentials of an owner as the service would have written them, but for their hashes: thousands by the API take too long. */
export const addManyCredentials = (
  pool: Pick<Pool, 'query'>,
  { accountId, id }: { readonly accountId: string; readonly id: string },
  count: number,
): Promise<QueryResult> =>
  pool.query(
    `with made as (
       insert into events select $1, h.size + n, 'sshcr_' || lpad(n::text, 27, '0'), 1, gen_random_uuid(), 'ssh_credential_created.v1',
         json_build_object('description', '', 'metadata', '', 'public_key', 'key ' || n, 'acl', '{}'::text[], 'owner_id', $2::text,
           'key_type', 'ssh-ed25519', 'key_bits', 256, 'key_blob', 'blob ' || n, 'fingerprint', 'SHA256:' || n, 'exclusive', false),
         '{"actor":"system"}', now(), h.recorded_at + n * interval '1 microsecond', ''
       from log_heads h, generate_series(1, $3::int) n where h.account_id = $1 order by n returning *),
     head as (update log_heads set size = size + $3, recorded_at = recorded_at + $3 * interval '1 microsecond' where account_id = $1)
     insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id, key_type,
       key_bits, key_blob, fingerprint, exclusive)
     select account_id, stream_id, 1, occurred_at, '', '', data::json ->> 'public_key', '{}', $2, 'ssh-ed25519', 256,
       data::json ->> 'key_blob', data::json ->> 'fingerprint', false from made order by position`,
    [accountId, id, count],
  );
