/**
 * Makes accounts with credentials by SQL: events with right leaf hashes, heads, rows, and an admin and an API key for
 * each account. Names and keys follow from numbers. Accounts count from 1, and credentials from 1 over all accounts.
 */
import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';

const padded = (prefix, number) => `${prefix}_${String(number).padStart(27, '0')}`;
export const accountKey = (account) => `key-of-account-${account}`;
export const credentialId = (number) => padded('sshcr', number);
export const fingerprintOf = (number) =>
  `SHA256:${createHash('sha256').update(String(number)).digest('base64').replaceAll('=', '')}`;

const ID = (prefix, number) => `'${prefix}_' || lpad((${number})::text, 27, '0')`;
const PER_STATEMENT = 50_000;

/** Makes $1 accounts, with the hash of each API key. */
const ACCOUNTS = [
  `insert into principals select ${ID('ac', 'a')}, ${ID('usr', 'a')}, 1, now(), 'user', '', 'bench@example.com', 'admin', true, false
    from generate_series(1, $1::int) a`,
  `insert into api_keys select ${ID('ac', 'a')}, ${ID('ak', 'a')}, 1, now(), ${ID('usr', 'a')}, '', '',
    encode(sha256(('key-of-account-' || a)::bytea), 'hex') from generate_series(1, $1::int) a`,
];

/**
 * Makes the credentials $1 to $2. An account has $3. `g` is a credential's number, and `n` is its number in its
 * account.
 */
const EVENTS = `
  insert into events (account_id, position, stream_id, stream_version, event_id, type, data, metadata, occurred_at, recorded_at, leaf_hash)
  select account_id, n, stream_id, 1, event_id, type, data, metadata, at, at,
    event_leaf_hash(account_id, n, stream_id, 1, event_id, type, data, metadata, at, at)
  from (
    select ${ID('ac', '(g - 1) / $3::int + 1')} as account_id, (g - 1) % $3::int + 1 as n, ${ID('sshcr', 'g')} as stream_id,
      gen_random_uuid() as event_id, 'ssh_credential_created.v1' as type,
      timestamptz '2026-01-01 00:00:00Z' + g * interval '1 millisecond' as at,
      '{"description":"laptop ' || g || '","metadata":"","public_key":"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI' || hash
        || '","acl":["bind:*.example.com"],"owner_id":"' || ${ID('usr', '(g - 1) / $3::int + 1')}
        || '","key_type":"ssh-ed25519","key_bits":256,"key_blob":"AAAAC3NzaC1lZDI1NTE5AAAAI' || hash
        || '","fingerprint":"SHA256:' || hash || '","exclusive":false}' as data,
      '{"actor":"' || ${ID('usr', '(g - 1) / $3::int + 1')} || '","ip":"192.0.2.7","user_agent":"bench"}' as metadata
    from (select g, rtrim(encode(sha256(g::text::bytea), 'base64'), '=') as hash from generate_series($1::int, $2::int) g) numbered
  ) made order by account_id, n`;
const ROWS = `
  insert into ssh_credentials (account_id, id, version, created_at, description, metadata, public_key, acl, owner_id,
    key_type, key_bits, key_blob, fingerprint, exclusive)
  select ${ID('ac', '(g - 1) / $3::int + 1')}, ${ID('sshcr', 'g')}, 1, timestamptz '2026-01-01 00:00:00Z' + g * interval '1 millisecond',
    'laptop ' || g, '', 'ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI' || hash, array['bind:*.example.com'],
    ${ID('usr', '(g - 1) / $3::int + 1')}, 'ssh-ed25519', 256, 'AAAAC3NzaC1lZDI1NTE5AAAAI' || hash, 'SHA256:' || hash, false
  from (select g, rtrim(encode(sha256(g::text::bytea), 'base64'), '=') as hash from generate_series($1::int, $2::int) g) numbered
  order by g`;
const HEADS = `insert into log_heads (account_id, size, recorded_at)
  select ${ID('ac', 'a')}, $2::int, timestamptz '2026-01-01 00:00:00Z' + a * $2::int * interval '1 millisecond' from generate_series(1, $1::int) a`;
const UNSEALED = `select count(*)::int as logs from log_heads h
  where not exists (select from log_checkpoints c where c.account_id = h.account_id and c.size = h.size)`;

/** Resolves once the service has sealed the logs, and PostgreSQL has analyzed the tables and written them to disk. */
export async function writeAccounts(client, accounts, credentialsOfEach) {
  // The service also seals the 10,000 logs sooner without flushes.
  await flushEachCommit(client, false);
  for (const statement of ACCOUNTS) await client.query(statement, [accounts]);
  const total = accounts * credentialsOfEach;
  for (let from = 1; from <= total; from += PER_STATEMENT) {
    const range = [from, Math.min(from + PER_STATEMENT - 1, total), credentialsOfEach];
    for (const statement of [EVENTS, ROWS]) await client.query(statement, range);
  }
  await client.query(HEADS, [accounts, credentialsOfEach]);
  await client.query('vacuum analyze');
  while ((await client.query(UNSEALED)).rows[0].logs > 0) await sleep(200);
  await flushEachCommit(client, true);
  await client.query('checkpoint');
}

async function flushEachCommit(client, flush) {
  await client.query(flush ? 'alter system reset synchronous_commit' : 'alter system set synchronous_commit = off');
  await client.query('select pg_reload_conf()');
}
