import type { ClientBase } from 'pg';

/**
 * Every table of the service, in the order of a backup. `migrations` and `migration_lock` are not among them: a restore runs
 * the migrations of the file. A new table of a migration gets a line here; a test compares the list with the database.
 */
const TABLES: readonly string[] = [
  'log_heads',
  'events',
  'log_checkpoints',
  'log_tiles',
  'log_alarms',
  'accounts',
  'principals',
  'api_keys',
  'ssh_credentials',
  'ip_policies',
  'ip_policy_rules',
  'tunnel_groups',
  'tcp_edges',
  'tcp_edge_hostports',
  'claims',
  'bind_decisions',
  'credential_usage',
  'pending_removals',
];

export interface StoredTable {
  readonly name: string;
  /** Without generated ones, which PostgreSQL computes again, and without ids of transactions, which are those of one server. */
  readonly columns: readonly string[];
  readonly primaryKey: readonly string[];
}

/** The tables that this database has: a migration that has not run yet may add more. */
export async function tablesOf(client: ClientBase): Promise<readonly StoredTable[]> {
  const { rows } = await client.query<StoredTable>(SHAPES, [TABLES]);
  return rows;
}

const SHAPES = `
  select c.relname as name,
    (select array_agg(attname::text order by attnum) from pg_attribute a
      where a.attrelid = c.oid and attnum > 0 and not attisdropped and attgenerated = '' and atttypid <> 'xid8'::regtype) as columns,
    (select array_agg(attname::text order by n) from pg_index, unnest(indkey) with ordinality as key (attnum, n)
      join pg_attribute a on a.attnum = key.attnum where a.attrelid = c.oid and indrelid = c.oid and indisprimary) as "primaryKey"
  from unnest($1::text[]) with ordinality as known (name, n) join pg_class c on c.oid = to_regclass(known.name)
  order by known.n`;

/** One spelling of every value, whatever the settings of the server or the role are. */
export const PLAIN_TEXT = `set local datestyle = 'ISO, YMD'; set local intervalstyle = 'postgres'; set local timezone = 'UTC';
  set local extra_float_digits = 1; set local bytea_output = 'hex'; set local client_encoding = 'UTF8'`;

/** The rows in the order of the primary key, so that equal tables give equal bytes on every server. */
export const copyOut = ({ name, columns, primaryKey }: StoredTable): string =>
  `copy (select ${quoted(columns)} from ${name} order by ${quoted(primaryKey)}) to stdout`;

export const quoted = (columns: readonly string[]): string => columns.map((column) => `"${column}"`).join(', ');
