import type { ClientBase } from 'pg';
import { type CatalogEntry, madeByMigrations, readCatalog } from './catalog.js';
import { surplusRights } from './granted-rights.js';
import { readSchemaState } from './schema-state.js';

/** How a schema differs from what the migrations of this version make. */
interface SchemaComparison {
  /** Sentences with the way out, about what is missing, changed, or able to change rows. */
  readonly faults: readonly string[];
  /** Names what else was added, such as an index. Undefined: nothing was. */
  readonly addition: string | undefined;
  /** Whether all tables and columns are there, and those of the log have their types. */
  readonly isReadable: boolean;
}

/** An entry that the migrations make with another text. */
interface Changed extends CatalogEntry {
  readonly made: string;
}

/**
 * Compares the schema of a connection, within a transaction, whose search path it sets. Needs no right to any table. The
 * owner of the tables and a superuser can deceive it.
 */
export async function compareSchema(client: ClientBase): Promise<SchemaComparison> {
  const { role, schema } = await readSchemaState(client);
  const made = new Map(Object.entries(madeByMigrations()));
  const names = (pattern: RegExp): string[] => [...made.keys()].flatMap((key) => pattern.exec(key)?.[1] ?? []);
  const [tables, functions] = [names(/^(?:table|partition) (\S+)/), names(FUNCTION)];
  const found = withoutOthers(await readCatalog(client, schema, tables), tables);
  const rights = await surplusRights(client, { role, schema }, [...tables, ...made.keys()]);
  const keys = new Set(found.map(({ key }) => key));
  const missing = [...made.keys()].filter((key) => !keys.has(key));
  const known = found.map((entry) => ({ ...entry, made: made.get(entry.key) ?? entry.text }));
  const changed = known.filter((entry) => entry.made !== entry.text);
  const added = found.filter(({ key }) => !made.has(key));
  // Of two functions with one name, PostgreSQL may call the other one.
  const acting = added.filter(
    ({ kind, key }) => ACTING.includes(kind) || functions.includes(FUNCTION.exec(key)?.[1] ?? ''),
  );
  const others = added.filter((entry) => !acting.includes(entry)).map(({ shown }) => shown);
  return {
    faults: [
      ...missing.map((key) => `the ${key} is missing: ${RESTORE}`),
      ...changed.map(describeChange),
      ...acting.map(describeActing),
      ...rights.faults,
    ],
    addition: describeAddition([...others, ...rights.additions]),
    isReadable: !missing.some((key) => /^(table|column) /.test(key)) && !changed.some(isOtherTypeInLog),
  };
}

const FUNCTION = /^function ([^(]+)/;
/** Kinds of things that can change, remove or hide the rows of the table that they were added to. */
const ACTING = ['trigger', 'rule', 'policy', 'foreign key', 'child table'];

/** Leaves out what belongs to tables of the operator. */
function withoutOthers(entries: readonly CatalogEntry[], made: readonly string[]): CatalogEntry[] {
  const partitions = entries.filter(({ kind }) => kind === 'partition').map(({ shown }) => shown.split(' ')[1]);
  const tables = new Set([...made, ...partitions]);
  return entries.filter(({ table }) => table === null || tables.has(table));
}

const isOtherTypeInLog = ({ kind, table, text, made }: Changed): boolean =>
  kind === 'column' && /^(events|log_\w+)$/.test(table ?? '') && typeOf(text) !== typeOf(made);

const typeOf = (column: string): string => column.split(/ (?:collate|not null|identity|default|generated)\b/)[0] ?? '';

const RESTORE = 'make it as the migrations do (docs/database.md#the-schema)';

function describeChange({ kind, shown, table, text, made }: Changed): string {
  if (kind === 'trigger' && text.startsWith(`${made} `)) {
    const name = shown.split(' ')[1];
    return `the ${shown} is switched off (${text.slice(made.length + 1)}): alter table ${table} enable trigger ${name}`;
  }
  const wayOut = kind === 'setting' ? 'triggers do not fire with it: reset it for the role and the database' : RESTORE;
  return `the ${shown} is '${text}', and not '${made}': ${wayOut}`;
}

function describeActing({ kind, shown, table }: CatalogEntry): string {
  const name = shown.slice(kind.length + 1).split(' on ')[0];
  const wayOut: Readonly<Record<string, string>> = {
    'foreign key': `alter table ${table} drop constraint ${name}`,
    'child table': `alter table ${name} no inherit ${table}`,
  };
  return `the ${shown} is not one of the service, and can change what is written or read there: ${wayOut[kind] ?? `drop ${shown}`}`;
}

const MAX_NAMED = 10;

function describeAddition(added: readonly string[]): string | undefined {
  if (added.length === 0) return undefined;
  const more = added.length > MAX_NAMED ? ` and ${added.length - MAX_NAMED} more` : '';
  return `the schema has what this version does not make: ${added.slice(0, MAX_NAMED).join(', ')}${more}; leave it if you added it, or else remove it`;
}
