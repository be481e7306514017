/** Helpers for the account whose large log is written by SQL. */
import { createHash } from 'node:crypto';

export const BENCH_KEY = 'a-key-of-the-big-account';

/** Adds an admin, a key of the admin, and the row of the log's first credential. Returns the id of the credential. */
export async function openBenchAccount(client, account) {
  const row = `select $1, $2, 1, now()`;
  await client.query(`insert into principals ${row}, 'user', '', 'bench@example.com', 'admin', true, false`, [
    account,
    'usr_000000000000000000000Bench1',
  ]);
  await client.query(`insert into api_keys ${row}, 'usr_000000000000000000000Bench1', '', '', $3`, [
    account,
    'ak_000000000000000000000Bench1',
    createHash('sha256').update(BENCH_KEY).digest('hex'),
  ]);
  const { rows } = await client.query(
    `select stream_id, data::json as d from events where account_id = $1 and type = 'ssh_credential_created.v1' order by position limit 1`,
    [account],
  );
  const [{ stream_id: id, d }] = rows;
  await client.query(
    `insert into ssh_credentials values ($1, $2, 1, now(), $3, '', $4, '{}', $5, 'ssh-ed25519', 256, $6, $7, false)`,
    [account, id, d.description, d.public_key, d.owner_id, d.key_blob, d.fingerprint],
  );
  return id;
}
