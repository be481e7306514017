import { connectDedicated } from './connect.js';
import { PostgresFailure } from './failure.js';
import type { PrimaryPool } from './primary-pool.js';
import { onlyRow } from './query.js';
import type { Queryable } from './schema/migrations.js';

/**
 * A prepared statement keeps its plan, which PostgreSQL makes from what it knows of the tables at that time: to read all of a
 * small table looks cheap, and the table grows. With these defaults a statement takes the index that it is written for, whatever
 * the size. They are the role's in this database, because a pooler keeps no settings of a session.
 */
const DEFAULTS = {
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
  plan_cache_mode: 'force_generic_plan',
  jit: 'off',
};

/** Sets them back for a transaction that reads whole tables. JIT stays off: it compiles a small statement for half a second. */
export const FREE_PLANS =
  'set local enable_seqscan = on; set local enable_hashjoin = on; set local enable_mergejoin = on; set local plan_cache_mode = auto';

/** What a new connection has of the defaults. */
export interface RoleDefaults {
  /** The role that logged in, which has the defaults, and the database: as SQL names them. */
  readonly role: string;
  readonly database: string;
  /** The defaults that the connection lacks, as `name = value`. */
  readonly lacking: readonly string[];
  /** Whether the role has all of them. A connection may lack them all the same. */
  readonly areSet: boolean;
  /** Whether the role acts as itself. Another role may not change its defaults. */
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

/** `connection`: a new one, since the defaults are those of its beginning. */
export const readRoleDefaults = async (connection: Queryable): Promise<RoleDefaults> =>
  onlyRow((await connection.query<RoleDefaults>(READ)).rows);

/** Lets the role of the service set its defaults, unless they are there, and tells if new connections lack them still. */
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

/** What it means, and the way out. */
export function describeLack(defaults: RoleDefaults): string {
  const { role, lacking, areSet } = defaults;
  const what = `statements may read whole tables, because new connections lack ${lacking.join(', ')}`;
  return areSet
    ? `${what}, although the role ${role} has these defaults: end the older sessions of the pooler (PgBouncer: RECONNECT), ` +
        'and take such settings out of the options in DATABASE_URL (docs/database.md)'
    : `${what}, and the role ${role} may not set its defaults: let an administrator run: ${alterations(defaults)}`;
}
