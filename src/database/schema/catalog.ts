import { readFileSync } from 'node:fs';
import type { ClientBase } from 'pg';

/** One thing of a schema, as text that is the same on each version of PostgreSQL. */
export interface CatalogEntry {
  /** For example `trigger`. */
  readonly kind: string;
  /** The table that it belongs to, if it belongs to one. */
  readonly table: string | null;
  /** For example `trigger events_guard on events`. All partitions of days have one name in it. */
  readonly key: string;
  /** The key, with the real name of a partition. */
  readonly shown: string;
  /** What it is: the type of a column, the definition of a trigger. */
  readonly text: string;
}

const CATALOG_FILE = new URL('../../../migrations/catalog.json', import.meta.url);

/** The texts of what the migrations make, by their keys. `npm run catalog` writes the file. */
export const madeByMigrations = (): Readonly<Record<string, string>> => JSON.parse(readFileSync(CATALOG_FILE, 'utf8'));

/** The end of the name of a partition: see keep_partitions in migrations/0011-tunnel-records.ts. */
const DAY = /_\d{8}(?= on |$)/g;

/**
 * Reads a schema from PostgreSQL's catalogs, within a transaction, whose search path it sets. The owner of most of
 * `tables` counts as the owner of the schema. Texts name any other owner.
 */
export async function readCatalog(
  client: ClientBase,
  schema: string,
  tables: readonly string[],
): Promise<readonly CatalogEntry[]> {
  await client.query(PRINTED_ALIKE, [schema]);
  const { rows } = await client.query<Omit<CatalogEntry, 'key'>>(CATALOG, [schema, tables]);
  const entries = rows.map((row) => ({ ...row, key: row.shown.replaceAll(DAY, '_DAY') }));
  return entries.sort((a, b) => (a.key < b.key ? -1 : 1));
}

/** PostgreSQL then prints names without their schema, and constants alike, whatever the settings of a role are. */
const PRINTED_ALIKE = `select set_config('search_path', quote_ident($1), true), set_config('intervalstyle', 'postgres', true),
  set_config('quote_all_identifiers', 'off', true)`;

/** An extension is one entry, without the things that it has made. */
function isNoMember(catalog: string, oid: string): string {
  return `not exists (select from pg_depend e where e.classid = '${catalog}'::regclass and e.objid = ${oid} and e.deptype = 'e')`;
}

const RELATIONS = `
  relations as (
    select c.*, quote_ident(c.relname) as name, p.inhparent, pg_get_userbyid(c.relowner) as owner
    from pg_class c left join pg_inherits p on p.inhrelid = c.oid and c.relispartition
    where c.relnamespace = to_regnamespace(quote_ident($1)) and c.relkind in ('r', 'p', 'v', 'm', 'f', 'S')),
  tables as (select * from relations where relkind in ('r', 'p')),
  owner as (select mode() within group (order by relowner) as oid from tables where name = any ($2))`;

/** NOT NULL is a part of its column. Since PostgreSQL 18 it is a constraint too, which may not hold for older rows. */
const COLUMNS = `
  select 'column', quote_ident(a.attname), t.name, concat_ws(' ', format_type(a.atttypid, a.atttypmod),
    (select 'collate ' || a.attcollation::regcollation::text from pg_type y where y.oid = a.atttypid and y.typcollation <> a.attcollation),
    case when a.attnotnull and not exists (select from pg_constraint n where n.conrelid = t.oid and n.contype = 'n'
      and n.conkey = array[a.attnum] and not n.convalidated) then 'not null' end,
    case a.attidentity when '' then null else 'identity ' || a.attidentity::text end,
    case a.attgenerated when '' then 'default ' else 'generated ' || a.attgenerated::text || ' ' end || pg_get_expr(d.adbin, t.oid, true))
  from tables t join pg_attribute a on a.attrelid = t.oid and a.attnum > 0 and not a.attisdropped
    left join pg_attrdef d on d.adrelid = t.oid and d.adnum = a.attnum
  where not t.relispartition`;

/** PostgreSQL keeps partitions like their table, so what they have from it is left out. So are storage parameters. */
const CONSTRAINTS_AND_INDEXES = `
  select case c.contype when 'f' then 'foreign key' else 'constraint' end, quote_ident(c.conname), t.name,
    pg_get_constraintdef(c.oid, true)
  from tables t join pg_constraint c on c.conrelid = t.oid and c.contype in ('c', 'f', 'p', 'u', 'x')
  where c.conparentid = 0 and c.conislocal
  union all
  select 'index', quote_ident(i.relname), t.name, concat_ws(' ', case when x.indisunique then 'unique' end,
    regexp_replace(substring(pg_get_indexdef(x.indexrelid, 0, true) from ' USING (.*)$'), ' WITH \\([^)]*\\)', ''),
    case when not (x.indisvalid and x.indisready and x.indislive) then 'invalid' end)
  from tables t join pg_index x on x.indrelid = t.oid join pg_class i on i.oid = x.indexrelid
  where not exists (select from pg_inherits p where p.inhrelid = x.indexrelid)`;

/** These can change rows or hide them. A trigger in state R or D does not fire in a usual session. */
const ACTING = `
  select 'trigger', quote_ident(g.tgname), t.name,
    pg_get_triggerdef(g.oid, true) || case g.tgenabled when 'D' then ' disabled' when 'R' then ' for replicas only' else '' end
  from tables t join pg_trigger g on g.tgrelid = t.oid and not g.tgisinternal
  union all
  select 'rule', quote_ident(w.rulename), t.name, pg_get_ruledef(w.oid, true) from tables t join pg_rewrite w on w.ev_class = t.oid
  union all
  select 'policy', quote_ident(p.polname), t.name, '' from tables t join pg_policy p on p.polrelid = t.oid
  union all
  select 'child table', p.inhrelid::regclass::text, t.name, '' from tables t join pg_inherits p on p.inhparent = t.oid
  where t.relkind = 'r' or p.inhrelid not in (select oid from tables)`;

/** The SHA-256 is that of the body without blanks and comments, since a change of those makes no new migration. */
const FUNCTIONS = `
  select 'function', quote_ident(f.proname) || '(' || oidvectortypes(f.proargtypes) || ')', null,
    case f.prokind when 'f' then concat_ws(' ',
      replace(regexp_replace(substring(split_part(pg_get_functiondef(f.oid), E'\\nAS ', 1) from '[(].*$'), '\\s+', ' ', 'g'),
        'search_path TO ' || quote_literal($1::text), 'search_path TO SCHEMA'),
      'body', encode(sha256(convert_to(regexp_replace(regexp_replace(f.prosrc, '^\\s*--.*$', '', 'gn'), '\\s+', ' ', 'g'), 'UTF8')), 'hex'),
      case when f.proowner <> (select oid from owner) then 'owner ' || pg_get_userbyid(f.proowner) end) else '' end
  from pg_proc f where f.pronamespace = to_regnamespace(quote_ident($1)) and ${isNoMember('pg_proc', 'f.oid')}`;

/** With these settings triggers do not fire. They can be the defaults of a role or a database. */
const SETTINGS = `
  select 'setting', name, null, coalesce(nullif(current_setting(name, true), ''), 'off')
  from unnest('{session_replication_role, tunnel_access.repair, tunnel_access.import}'::text[]) as name`;

const CATALOG = `with ${RELATIONS},
  entries(kind, name, "table", text) as (
    select case when t.relispartition then 'partition' else case t.relkind when 'v' then 'view' when 'm' then 'materialized view'
        when 'f' then 'foreign table' when 'S' then 'sequence' else 'table' end end,
      t.name, (select p.name from relations p where p.oid = t.inhparent),
      concat_ws(', ', case t.relpersistence when 'u' then 'unlogged' else 'permanent' end,
        case when pg_get_expr(t.relpartbound, t.oid) = 'DEFAULT' then 'default' end,
        'by ' || pg_get_partkeydef(t.oid), case when t.relrowsecurity then 'row level security' end,
        case when t.relforcerowsecurity then 'forced row level security' end,
        case when t.relowner <> (select oid from owner) then 'owner ' || t.owner end)
    from relations t where ${isNoMember('pg_class', 't.oid')}
    union all ${COLUMNS} union all ${CONSTRAINTS_AND_INDEXES} union all ${ACTING} union all ${FUNCTIONS}
    union all ${SETTINGS}
    union all
    select 'extension', quote_ident(extname), null, '' from pg_extension where extnamespace = to_regnamespace(quote_ident($1))
    union all
    select 'event trigger', quote_ident(evtname), null, '' from pg_event_trigger v
    where ${isNoMember('pg_event_trigger', 'v.oid')})
  select kind, "table", concat_ws(' on ', kind || ' ' || name, "table") as shown, text from entries`;
