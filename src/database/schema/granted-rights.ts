import type { ClientBase } from 'pg';
import { missingRights, TABLE_RIGHTS } from './rights.js';
import type { SchemaState } from './schema-state.js';

interface SurplusRights {
  /** Sentences with the way out, about roles that can change what they need not. */
  readonly faults: readonly string[];
  /** Names the other rights, by which nobody can change a row. */
  readonly additions: readonly string[];
}

interface Grant {
  /** What GRANT names: `events`, `function f(text)` or `schema public`. */
  readonly object: string;
  readonly grantee: string;
  readonly rights: readonly string[];
}

/** Rights by which nobody can change a row. CREATE is for a schema: before PostgreSQL 15 every role has it in public. */
const UNCHANGING = ['SELECT', 'MAINTAIN', 'CREATE'];

/**
 * Finds the rights that roles other than the owner have beyond those that the service needs. A role of the service is the
 * current one, and each that has all that the service needs. `made`: the tables and functions of the service.
 */
export async function surplusRights(
  client: ClientBase,
  { role, schema }: Pick<SchemaState, 'role' | 'schema'>,
  made: readonly string[],
): Promise<SurplusRights> {
  const { rows } = await client.query<Grant & { role: string | null }>(GRANTS, [schema, made]);
  const services = new Set([role]);
  for (const name of new Set(rows.map((row) => row.role)))
    if (name !== null && (await missingRights(client, name, schema)).length === 0) services.add(name);
  const surplus = rows.map((row) => ({
    ...row,
    rights: row.rights.filter((right) => !needed(row.object, services.has(row.role ?? '')).includes(right)),
  }));
  const faults = surplus
    .map((grant) => ({ ...grant, rights: grant.rights.filter((one) => !UNCHANGING.includes(one)) }))
    .filter(({ rights }) => rights.length > 0);
  const additions = surplus.flatMap(({ grantee, rights }) =>
    rights.filter((one) => UNCHANGING.includes(one)).map((one) => `the right ${one} of ${grantee}`),
  );
  return { faults: faults.map(describe), additions: [...new Set(additions)] };
}

const needed = (object: string, isService: boolean): readonly string[] =>
  isService ? (TABLE_RIGHTS[object] ?? ['EXECUTE']) : [];

function describe({ object, grantee, rights }: Grant): string {
  const all = rights.join(', ');
  return `the role ${grantee} has rights to ${object} that it does not need: revoke ${all} on ${object} from ${grantee}`;
}

/**
 * A right may cover a column only. Of functions only those count that run as their owner, and of the schema the right to
 * make further functions in it.
 */
const GRANTS = `with objects as (
    select quote_ident(c.relname) as object, c.relowner as owner, e.grantee, e.privilege_type from pg_class c
      cross join lateral (
        select * from aclexplode(c.relacl) union all
        select x.* from pg_attribute a cross join lateral aclexplode(a.attacl) x where a.attrelid = c.oid) e
      where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('r', 'p')
        and regexp_replace(c.relname, '_[0-9]{8}$', '_DAY') = any ($2)
    union all
    select format('function %s(%s)', f.proname, oidvectortypes(f.proargtypes)), f.proowner, e.grantee, e.privilege_type
      from pg_proc f cross join lateral aclexplode(coalesce(f.proacl, acldefault('f', f.proowner))) e
      where f.pronamespace = to_regnamespace(quote_ident($1)) and f.prosecdef
        and format('function %s(%s)', f.proname, oidvectortypes(f.proargtypes)) = any ($2)
    union all
    select format('schema %I', n.nspname), t.relowner, e.grantee, e.privilege_type
      from pg_namespace n join pg_class t on t.relnamespace = n.oid and t.relname = 'events'
        cross join lateral aclexplode(n.nspacl) e
      where n.oid = to_regnamespace(quote_ident($1)) and e.privilege_type = 'CREATE' and e.grantee <> n.nspowner)
  select object, case grantee when 0 then 'PUBLIC' else grantee::regrole::text end as grantee,
    (select r.rolname from pg_roles r where r.oid = grantee) as role,
    array_agg(distinct privilege_type order by privilege_type) as rights
  from objects where grantee <> owner group by object, grantee order by 1, 2`;
