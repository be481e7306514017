import type { ClientBase, Pool } from 'pg';

/** Every table of the current schema, as the catalogs describe it. */
export async function describeSchema(connections: Pool | ClientBase): Promise<string[]> {
  const { rows } = await connections.query<{ line: string }>(`
    with tables as (select c.* from pg_class c where relkind = 'r' and relnamespace = current_schema()::regnamespace)
    select format('%s: column %s %s collate %s not null %s default %s, %s', relname, attname, format_type(atttypid, atttypmod),
        attcollation::regcollation, attnotnull, pg_get_expr(adbin, adrelid), col_description(t.oid, attnum)) as line
      from tables t join pg_attribute a on attrelid = t.oid and attnum > 0 and not attisdropped
      left join pg_attrdef d on adrelid = t.oid and adnum = attnum
    union all select format('%s: %s, options %s, owner %s, grants %s, comment %s', relname, relpersistence, reloptions,
        pg_get_userbyid(relowner), relacl, obj_description(oid, 'pg_class')) from tables
    union all select format('%s: constraint %s %s %s', relname, conname, pg_get_constraintdef(k.oid), convalidated)
      from tables t join pg_constraint k on conrelid = t.oid
    union all select format('%s: index %s, valid %s, comment %s', relname, pg_get_indexdef(indexrelid), indisvalid,
        obj_description(indexrelid, 'pg_class')) from tables t join pg_index i on indrelid = t.oid
    union all select format('%s: trigger %s, enabled %s', relname, pg_get_triggerdef(g.oid), tgenabled)
      from tables t join pg_trigger g on tgrelid = t.oid where not tgisinternal
    order by line`);
  return rows.map(({ line }) => line);
}
