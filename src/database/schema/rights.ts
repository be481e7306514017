import { onlyRow } from '../query.js';
import type { Queryable } from './migrations.js';

/**
 * The rights that the service's role needs to each table, and no more. Events get no UPDATE and no DELETE, since
 * nothing changes them. A `select for update` needs UPDATE, also where no row is updated.
 */
export const TABLE_RIGHTS: Readonly<Record<string, readonly string[]>> = {
  events: ['SELECT', 'INSERT'],
  log_heads: ['SELECT', 'INSERT', 'UPDATE'],
  accounts: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  principals: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  api_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  enrollment_keys: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  ssh_credentials: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  ip_policies: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  ip_policy_rules: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  tunnel_groups: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  reserved_addrs: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  reserved_domains: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  resting_names: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  tcp_edges: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  tcp_edge_hostports: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  bind_decisions: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  credential_usage: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  gateway_runs: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  gateway_watch: ['SELECT', 'INSERT', 'UPDATE'],
  tunnel_sessions: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  tunnels: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  credential_presence: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  tunnel_session_records: ['SELECT', 'INSERT', 'DELETE'],
  tunnel_records: ['SELECT', 'INSERT', 'DELETE'],
  edge_connection_records: ['SELECT', 'INSERT', 'DELETE'],
  claims: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  pending_removals: ['SELECT', 'INSERT', 'UPDATE', 'DELETE'],
  log_checkpoints: ['SELECT', 'INSERT'],
  log_tiles: ['SELECT', 'INSERT', 'UPDATE'],
  log_alarms: ['SELECT', 'INSERT'],
  migrations: ['SELECT'],
  migration_lock: ['SELECT', 'UPDATE'],
};

/** The functions that statements of the service call. A trigger calls its function without a right to it. */
const FUNCTIONS = [
  'acl_digest',
  'covering_names',
  'event_actor',
  'event_leaf_hash',
  'has_reserved',
  'host_of',
  'keep_partitions',
  'lock_names',
  'registrable_name',
  'require_primary',
  'reservations_of',
  'reserving_accounts',
  'resting_of',
  'tcp_edge_names',
];

/** A right that a role lacks. `object` is what GRANT names, for example `table events`. */
export interface MissingRight {
  readonly right: string;
  readonly object: string;
}

/** It names objects by their oid, so it needs no right, not even to use the schema. */
const MISSING = `
  select 'USAGE' as right, format('schema %I', $2::text) as object where not has_schema_privilege($1, to_regnamespace(quote_ident($2)), 'USAGE')
  union all
  select p, format('table %I.%I', $2::text, c.relname) from json_each($3::json) wanted
    join pg_class c on c.relname = wanted.key and c.relkind in ('r', 'p') and c.relnamespace = to_regnamespace(quote_ident($2))
    cross join json_array_elements_text(wanted.value) p where not has_table_privilege($1, c.oid, p)
  union all
  select 'EXECUTE', format('function %I.%I(%s)', $2::text, f.proname, pg_get_function_identity_arguments(f.oid)) from pg_proc f
    where f.pronamespace = to_regnamespace(quote_ident($2)) and f.proname = any ($4)
      and not has_function_privilege($1, f.oid, 'EXECUTE')
  order by object, "right"`;

/** The rights to the existing tables and functions of `schema` that `role` lacks. */
export async function missingRights(database: Queryable, role: string, schema: string): Promise<MissingRight[]> {
  const values = [role, schema, JSON.stringify(TABLE_RIGHTS), FUNCTIONS];
  return (await database.query<MissingRight>(MISSING, values)).rows;
}

/** Gives `role` the rights that it lacks, and returns them. The connection's role must own the tables. */
export async function grantMissingRights(
  database: Queryable,
  role: string,
  schema: string,
): Promise<readonly MissingRight[]> {
  const missing = await missingRights(database, role, schema);
  const { rows } = await database.query<{ grantee: string }>('select quote_ident($1) as grantee', [role]);
  const { grantee } = onlyRow(rows);
  for (const { right, object } of missing) await database.query(`grant ${right} on ${object} to ${grantee}`);
  return missing;
}

/** Describes rights for people: `INSERT, SELECT on table public.events; USAGE on schema public`. */
export function describeRights(rights: readonly MissingRight[]): string {
  const objects = [...new Set(rights.map(({ object }) => object))];
  const of = (wanted: string): string[] => rights.filter(({ object }) => object === wanted).map(({ right }) => right);
  return objects.map((object) => `${of(object).join(', ')} on ${object}`).join('; ');
}
