import type { ClientBase } from 'pg';
import { OperatorError } from '../../operator-error.js';

/**
 * The definition of a live table, as statements that create its shadow, read from the catalogs. Names stay the same,
 * since the service distinguishes errors by the names of constraints.
 */
export interface TableShape {
  /** The schema of the live table. */
  readonly schema: string;
  /** Columns, options, grants and comments; run before the table is filled. */
  readonly create: readonly string[];
  /** Constraints and indexes; run after the table is filled. */
  readonly constrain: readonly string[];
  /**
   * Triggers; run when the table is live, since until then they would check rows against tables of another snapshot.
   */
  readonly guard: readonly string[];
}

/** Schema of the shadow tables, and schema of the replaced tables until they are dropped. */
export const SHADOWS = 'tunnel_access_rebuild';
export const REPLACED = 'tunnel_access_replaced';

/** Throws OperatorError if an object depends on the table and would be lost with it. */
export async function shapeOf(client: ClientBase, table: string): Promise<TableShape> {
  const { rows } = await client.query<{ oid: string; schema: string; lost: string | null }>(TABLE, [table]);
  const [found] = rows;
  if (found === undefined) throw new OperatorError(`there is no table ${table}; start the service once to create it`);
  if (found.lost !== null) {
    throw new OperatorError(
      `${table} cannot be rebuilt: it would lose ${found.lost}. Remove that first, and add it again afterwards.`,
    );
  }
  const statements = async (query: string): Promise<string[]> =>
    (await client.query<{ statement: string }>(query, [found.oid])).rows.map(({ statement }) => statement);
  return {
    schema: found.schema,
    create: await statements(CREATE),
    constrain: await statements(CONSTRAIN),
    guard: await statements(GUARD),
  };
}

export const isSameShape = (a: TableShape, b: TableShape | undefined): boolean =>
  JSON.stringify(a) === JSON.stringify(b);

/** $1: name of the table. `lost` lists objects that refer to the table by its oid, which a shadow cannot take over. */
const TABLE = `
  select c.oid, n.nspname as schema, (
    select string_agg(distinct what, ', ') from (
      select 'a view or rule' as what from pg_depend d
        where d.refobjid = c.oid and d.classid = 'pg_rewrite'::regclass and d.refclassid = 'pg_class'::regclass
      union all select 'foreign key ' || conname from pg_constraint where contype = 'f' and c.oid in (conrelid, confrelid)
      union all select 'policy ' || polname from pg_policy where polrelid = c.oid
      union all select 'row level security' where c.relrowsecurity
      union all select 'publication ' || p.pubname from pg_publication_rel r join pg_publication p on p.oid = r.prpubid where prrelid = c.oid
      union all select 'its inheritance' from pg_inherits where c.oid in (inhrelid, inhparent)
      union all select 'its partitions' where c.relkind <> 'r'
    ) dependent) as lost
  from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = to_regclass($1)`;

const CREATE = `
  select statement from (
    select 1 as n, format('create table ${SHADOWS}.%I (like %I.%I including all excluding indexes)', relname, nspname, relname) as statement
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1
    union all select 2, format('alter table ${SHADOWS}.%I set (%s)', relname, array_to_string(reloptions, ', '))
      from pg_class where oid = $1 and reloptions is not null
    union all select 3, format('alter table ${SHADOWS}.%I owner to %I', relname, pg_get_userbyid(relowner))
      from pg_class where oid = $1 and pg_get_userbyid(relowner) <> current_user
    union all select 4, format('grant %s on ${SHADOWS}.%I to %s%s', privilege_type, relname,
        case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end, case when is_grantable then ' with grant option' else '' end)
      from pg_class, aclexplode(relacl) where oid = $1
    union all select 5, format('grant %s (%I) on ${SHADOWS}.%I to %s%s', privilege_type, attname, relname,
        case grantee when 0 then 'public' else quote_ident(pg_get_userbyid(grantee)) end, case when is_grantable then ' with grant option' else '' end)
      from pg_attribute a join pg_class c on c.oid = attrelid, aclexplode(attacl) where attrelid = $1
    union all select 6, format('comment on table ${SHADOWS}.%I is %L', relname, obj_description(oid, 'pg_class'))
      from pg_class where oid = $1 and obj_description(oid, 'pg_class') is not null
  ) made order by n, statement`;

// The last argument, pretty-printing, omits the schema of objects that the search path finds.
const CONSTRAIN = `
  select statement from (
    select 1 as n, format('alter table ${SHADOWS}.%I add constraint %I %s', relname, conname, pg_get_constraintdef(k.oid, true)) as statement
      from pg_constraint k join pg_class c on c.oid = conrelid where conrelid = $1 and contype in ('p', 'u', 'x')
    union all select 2, pg_get_indexdef(indexrelid, 0, true) from pg_index i
      where indrelid = $1 and not exists (select from pg_constraint where conindid = indexrelid and contype in ('p', 'u', 'x'))
    union all select 3, format('comment on index ${SHADOWS}.%I is %L', relname, obj_description(indexrelid, 'pg_class'))
      from pg_index join pg_class c on c.oid = indexrelid where indrelid = $1 and obj_description(indexrelid, 'pg_class') is not null
  ) made order by n, statement`;

const GUARD = `
  select statement from (
    select tgname, 1 as n, pg_get_triggerdef(oid, true) as statement from pg_trigger where tgrelid = $1 and not tgisinternal
    union all select tgname, 2, format('alter table %I.%I %s trigger %I', nspname, relname,
        case tgenabled when 'D' then 'disable' when 'R' then 'enable replica' else 'enable always' end, tgname)
      from pg_trigger join pg_class c on c.oid = tgrelid join pg_namespace n on n.oid = relnamespace
      where tgrelid = $1 and not tgisinternal and tgenabled <> 'O'
  ) made order by tgname, n`;
