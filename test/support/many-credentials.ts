import type { Pool, QueryResult } from 'pg';

type Sql = Pick<Pool, 'query'>;
type Owner = { readonly accountId: string; readonly id: string };

export const idOfMany = (n: number): string => `sshcr_${String(n).padStart(27, '0')}`;

/** Writes credentials of an owner as the service would, except for their hashes: thousands by the API take too long. */
export const addManyCredentials = (sql: Sql, { accountId, id }: Owner, count: number, from = 1): Promise<QueryResult> =>
  sql.query(
    `with made as (
       insert into events select $1, h.size + n - $4 + 1, 'sshcr_' || lpad(n::text, 27, '0'), 1, gen_random_uuid(), 'ssh_credential_created.v1',
         json_build_object('description', '', 'metadata', '', 'public_key', 'key ' || n, 'acl', '{}'::text[], 'owner_id', $2::text,
           'key_type', 'ssh-ed25519', 'key_bits', 256, 'key_blob', 'blob ' || n, 'fingerprint', 'SHA256:' || n, 'exclusive', false),
         '{"actor":"system"}', now(), h.recorded_at + (n - $4 + 1) * interval '1 microsecond', ''
       from log_heads h, generate_series($4::int, $4 + $3::int - 1) n where h.account_id = $1 order by n returning *),
     head as (update log_heads set size = size + $3, recorded_at = recorded_at + $3 * interval '1 microsecond' where account_id = $1)
     insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id, key_type,
       key_bits, key_blob, fingerprint, exclusive)
     select account_id, stream_id, 1, occurred_at, '', '', data::json ->> 'public_key', '{}', $2, 'ssh-ed25519', 256,
       data::json ->> 'key_blob', data::json ->> 'fingerprint', false from made order by position`,
    [accountId, id, count, from],
  );

/** Writes API keys of an owner in the same way. */
export const addManyKeys = (sql: Sql, { accountId, id }: Owner, count: number) =>
  sql.query(
    `with made as (
       insert into events select $1, h.size + n, 'ak_' || lpad(n::text, 27, '0'), 1, gen_random_uuid(), 'api_key_created.v1',
         json_build_object('description', '', 'metadata', '', 'owner_id', $2::text, 'token_hash', md5(n::text)),
         '{"actor":"system"}', now(), h.recorded_at + n * interval '1 microsecond', ''
       from log_heads h, generate_series(1, $3::int) n where h.account_id = $1 order by n returning *),
     head as (update log_heads set size = size + $3, recorded_at = recorded_at + $3 * interval '1 microsecond' where account_id = $1)
     insert into api_keys (account_id, id, version, created_at, description, metadata, owner_id, token_hash)
     select account_id, stream_id, 1, occurred_at, '', '', $2, data::json ->> 'token_hash' from made order by position`,
    [accountId, id, count],
  );

/** Deletes every third of an owner's many credentials, as the service would. */
export const deleteEveryThird = (sql: Sql, { accountId, id }: Owner, remainder: number) =>
  sql.query(
    `with gone as (delete from ssh_credentials where account_id = $1 and owner_id = $2 and right(id, 27)::int % 3 = $3 returning id),
     numbered as (select id, row_number() over (order by id desc) as n from gone),
     head as (update log_heads set size = size + (select count(*) from gone),
       recorded_at = recorded_at + (select count(*) from gone) * interval '1 microsecond' where account_id = $1)
     insert into events select $1, h.size + n, id, 2, gen_random_uuid(), 'ssh_credential_deleted.v1', '{}', '{"actor":"system"}',
       now(), h.recorded_at + n * interval '1 microsecond', '' from log_heads h, numbered where h.account_id = $1`,
    [accountId, id, remainder],
  );

/** The newest position of an account's log. */
export async function headOf(sql: Sql, accountId: string): Promise<number> {
  const text = 'select size::float8 as size from log_heads where account_id = $1';
  return (await sql.query<{ size: number }>(text, [accountId])).rows[0]?.size ?? 0;
}
