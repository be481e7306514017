import { connectDedicated } from './connect.js';
import { PostgresFailure } from './failure.js';
import type { PrimaryPool } from './primary-pool.js';
import { onlyRow } from './query.js';
import type { Queryable } from './schema/migrations.js';

/**
 * PostgreSQL keeps the plan of a prepared statement, also when a table grows later that was small then. With these
 * defaults a statement always uses the index that it is written for. They are defaults of the role in this database,
 * because a pooler keeps no settings of a session.
 */
const DEFAULTS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/** Sets the plans free again for a transaction that reads whole tables. JIT stays off. */
export const FREE_PLANS =
  'set local enable_seqscan = on; set local enable_hashjoin = on; set local enable_mergejoin = on; set local plan_cache_mode = auto';

/** Which of the defaults a new connection has. */
export interface RoleDefaults {
  /** The role that logged in, to which the defaults belong, and the database. Both are quoted for SQL. */
  readonly role: string;
  readonly database: string;
  /** The defaults that the connection lacks, as `name = value`. */
  readonly lacking: readonly string[];
  /** Whether the role has all defaults. A connection of a pooler may lack them even so. */
  readonly areSet: boolean;
  /** Whether the current role is the one that logged in. Another role may not change its defaults. */
  readonly maySet: boolean;
}

const entries = Object.entries(DEFAULTS);
const READ = `select quote_ident(session_user) as role, quote_ident(current_database()) as database,
    session_user = current_user as "maySet",
    array(select name || ' = ' || value from (values ${entries.map(([name, value]) => `('${name}', '${value}')`).join(', ')})
      wanted(name, value) where current_setting(name) <> value) as lacking,
    exists (select from pg_db_role_setting s join pg_roles r on r.oid = s.setrole join pg_database d on d.oid = s.setdatabase
      where r.rolname = session_user and d.datname = current_database()
        and s.setconfig @> array['${entries.map(([name, value]) => `${name}=${value}`).join("', '")}']) as "areSet"`;

/** Reads the defaults of a connection. It must be a new one, because it has the defaults of the time when it began. */
export const readRoleDefaults = async (connection: Queryable): Promise<RoleDefaults> =>
  onlyRow((await connection.query<RoleDefaults>(READ)).rows);

/** Sets the defaults of the service's role where they are missing. Logs a line if new connections still lack them. */
export async function setRoleDefaults(pool: PrimaryPool, log: (line: string) => void): Promise<void> {
  const before = await ofNewConnection(pool);
  if (before.lacking.length === 0) return;
  if (!before.areSet) await pool.query(alterations(before)).catch(ignoreLackOfRights);
  await pool.renew();
  const now = await ofNewConnection(pool);
  if (now.lacking.length > 0) log(describeLack(now));
}

async function ofNewConnection(pool: PrimaryPool): Promise<RoleDefaults> {
  const client = await connectDedicated(pool);
  try {
    return await readRoleDefaults(client);
  } finally {
    await client.end();
  }
}

function ignoreLackOfRights(error: unknown): void {
  if (!PostgresFailure.of(error).lacksPrivilege) throw error;
}

const alterations = ({ role, database }: RoleDefaults): string =>
  entries.map(([name, value]) => `alter role ${role} in database ${database} set ${name} = ${value}`).join('; ');

/** Says what the missing defaults mean, and what the operator can do. */
export function describeLack(defaults: RoleDefaults): string {
  const { role, lacking, areSet } = defaults;
  const what = `statements may read whole tables, because new connections lack ${lacking.join(', ')}`;
  return areSet
    ? `${what}, although the role ${role} has these defaults: end the older sessions of the pooler (PgBouncer: RECONNECT), ` +
        'and take such settings out of the options in DATABASE_URL (docs/database.md)'
    : `${what}, and the role ${role} may not set its defaults: let an administrator run: ${alterations(defaults)}`;
}
