with batch as materialized (
  select * from unnest($3::text[], $4::int[], $5::uuid[], $6::text[], $7::text[], $8::text[], $9::timestamptz[], $10::boolean[])
    with ordinality as events(stream_id, stream_version, event_id, type, data, metadata, occurred_at, takes_rights, ordinality)),
taken as materialized (
  select other.value from json_to_recordset($11::json) as r(value text, change int) cross join lateral (select c.value from claims c
    where c.value = r.value and c.account_id <> $1 limit 1) as other where r.change > 0),
refused as materialized (
  select value from taken where not has_reserved($1, value)),
head as (
  insert into log_heads as old (account_id, size, recorded_at, rights_position)
  select $1, count(*), clock_timestamp() + (count(*) - 1) * interval '1 microsecond',
    coalesce(max(ordinality) filter (where takes_rights), 0) from batch having not exists (select from refused)
  on conflict (account_id) do update set size = old.size + excluded.size,
    recorded_at = greatest(clock_timestamp(), old.recorded_at + interval '1 microsecond')
      + (excluded.size - 1) * interval '1 microsecond',
    rights_position = coalesce(old.size + nullif(excluded.rights_position, 0), old.rights_position)
  where old.rights_position <= $2::bigint
  returning size - (select count(*) from batch) as base,
    recorded_at - (select count(*) from batch) * interval '1 microsecond' as at),
placed as (
  select $1 as account_id, head.base + ordinality as position, stream_id, stream_version, event_id, type, data, metadata,
    occurred_at, head.at + ordinality * interval '1 microsecond' as recorded_at from head, batch),
recorded as (
  insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  select placed.*,
    event_leaf_hash(account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at)
  from placed),
claimed as (
  insert into claims as c (value, account_id, holders, exclusive)
  select r.value, $1, r.change, r.change > 0 and r.value not in (select value from taken) from head, json_to_recordset($11::json) as r(value text, change int)
  on conflict (value, account_id) do update set holders = c.holders + excluded.holders),
ssh_credentials_stored as (
  insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id, key_type, key_bits, key_blob, fingerprint, exclusive, expires_at, source_cidrs, device_name, device_addr)
  select $1, r.id, r.version, r.created_at, r.description, r.metadata, r.public_key, r.acl, r.owner_id, r.key_type, r.key_bits, r.key_blob, r.fingerprint, r.exclusive, r.expires_at, r.source_cidrs, r.device_name, r.device_addr from head, json_populate_recordset(null::ssh_credentials, $12::json) r)
select base::text as base, null as refused from head union all select null, value from refused
