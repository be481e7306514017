import type { ClientBase } from 'pg';

const ROWS = ['SELECT', 'INSERT', 'UPDATE', 'DELETE'];

/** What the service does with each table. */
const TABLE_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  events: ['SELECT', 'INSERT'],
  log_heads: ['SELECT', 'INSERT', 'UPDATE'],
  accounts: ROWS,
  principals: ROWS,
  api_keys: ROWS,
  ssh_credentials: ROWS,
  tcp_edges: ROWS,
  tcp_edge_hostports: ROWS,
  bind_decisions: ['SELECT', 'INSERT', 'DELETE'],
  credential_usage: ROWS,
  pending_removals: ROWS,
  migrations: ['SELECT'],
};

/** The rights that the role of this connection lacks, for example `INSERT on events`. Absent tables count as granted. */
export async function missingRights(client: ClientBase): Promise<readonly string[]> {
  const { rows } = await client.query<{ lack: string }>(
    `select string_agg(p, ', ') || ' on ' || wanted.key as lack
     from json_each($1::json) wanted join pg_class c on c.oid = to_regclass(wanted.key)
     cross join json_array_elements_text(wanted.value) p
     where not has_table_privilege(c.oid, p) group by wanted.key order by wanted.key`,
    [JSON.stringify(TABLE_RIGHTS)],
  );
  return rows.map(({ lack }) => lack);
}
